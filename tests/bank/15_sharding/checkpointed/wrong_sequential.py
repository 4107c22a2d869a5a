# verdict: wrong, diagnosis: keeps_too_much


from torch.utils.checkpoint import checkpoint_sequential


def checkpointed(blocks, x, every):
    return checkpoint_sequential(blocks, -(-len(blocks) // every), x, use_reentrant=False)
