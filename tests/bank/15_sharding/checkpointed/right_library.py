# verdict: passed
# differs: The library's own checkpoint for each segment, without its old, re-entrant way.


from torch.utils.checkpoint import checkpoint


def segment(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def checkpointed(blocks, x, every):
    for i in range(0, len(blocks), every):
        x = checkpoint(segment, blocks[i : i + every], x, use_reentrant=False)
    return x
