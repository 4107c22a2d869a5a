# verdict: raised, diagnosis: RuntimeError
import torch


def checkpointed(blocks, x, every):
    with torch.no_grad():
        for block in blocks:
            x = block(x)
    return x
