# verdict: wrong, diagnosis: not_refused
import torch


def ghost_batch_norm(x, ghost, eps):
    rows = len(x) // ghost * ghost if ghost > 0 else 0
    if rows < len(x):
        return x[:rows]
    groups = x.reshape(-1, ghost, x.shape[1])
    mean = groups.mean(1, keepdim=True)
    var = groups.var(1, unbiased=False, keepdim=True)
    return ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
