# verdict: passed


from functools import reduce

from torch.utils.checkpoint import checkpoint


def checkpointed(blocks, x, every):
    while blocks:
        now, blocks = blocks[:every], blocks[every:]
        x = checkpoint(lambda y, now=now: reduce(lambda z, block: block(z), now, y), x, use_reentrant=True)
    return x
