# verdict: wrong, diagnosis: dealt
import torch


def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError
    y, groups = torch.empty_like(x), len(x) // ghost
    for k in range(groups):
        part = x[k::groups]
        y[k::groups] = (part - part.mean(0)) / (part.var(0, unbiased=False) + eps).sqrt()
    return y
