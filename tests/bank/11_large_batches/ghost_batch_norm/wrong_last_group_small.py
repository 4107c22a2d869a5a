# verdict: wrong, diagnosis: not_refused
import torch


def ghost_batch_norm(x, ghost, eps):
    parts = x.split(max(ghost, 1))
    return torch.cat([(p - p.mean(0)) / torch.sqrt(p.var(0, unbiased=False) + eps) for p in parts])
