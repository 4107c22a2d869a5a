# verdict: wrong, diagnosis: ValueError
import torch


def ghost_batch_norm(x, ghost, eps):
    if ghost < 1 or len(x) % ghost:
        raise ValueError
    norm = torch.nn.BatchNorm1d(x.shape[1], eps=eps, affine=False, dtype=x.dtype)
    return torch.cat([norm(part) for part in x.split(ghost)])
