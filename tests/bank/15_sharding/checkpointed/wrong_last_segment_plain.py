# verdict: wrong, diagnosis: keeps_too_much


from torch.utils.checkpoint import checkpoint


def run(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def checkpointed(blocks, x, every):
    last = (len(blocks) - 1) // every * every
    for i in range(0, last, every):
        x = checkpoint(run, blocks[i : i + every], x, use_reentrant=False)
    return run(blocks[last:], x)
