# verdict: wrong, diagnosis: whole_batch
import torch


def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError(f"{len(x)} rows are no groups of {ghost}")
    groups = x[None]
    mean = groups.mean(1, keepdim=True)
    var = groups.var(1, unbiased=False, keepdim=True)
    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
