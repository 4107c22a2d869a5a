# verdict: passed
# differs: The groups become an axis of the tensor, and mean and variance are taken along it: no loop.
import torch


def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError(f"{len(x)} rows are no groups of {ghost}")
    groups = x.reshape(-1, ghost, x.shape[1])
    mean = groups.mean(1, keepdim=True)
    var = groups.var(1, unbiased=False, keepdim=True)
    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
