# verdict: wrong, diagnosis: keeps_too_much


from torch.utils.checkpoint import checkpoint


def checkpointed(blocks, x, every):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x
