# verdict: wrong, diagnosis: weight_forgotten
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
    total = own.clone()
    dist.all_reduce(total)
    gx = inv * (g - total[0] / n - xhat * total[1] / n)
    return gx, own[1], own[0]
