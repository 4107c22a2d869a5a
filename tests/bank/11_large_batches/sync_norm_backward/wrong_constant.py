# verdict: wrong, diagnosis: as_if_constant
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
    total = own.clone()
    dist.all_reduce(total)
    gx = weight * inv * g
    return gx, own[1], own[0]
