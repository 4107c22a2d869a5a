# verdict: wrong, diagnosis: drops_rng_state


from torch.utils.checkpoint import checkpoint


def checkpointed(blocks, x, every):
    for i in range(0, len(blocks), every):

        def run(y, i=i):
            for block in blocks[i : i + every]:
                y = block(y)
            return y

        x = checkpoint(run, x, use_reentrant=False, preserve_rng_state=False)
    return x
