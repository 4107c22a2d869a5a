# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    own = torch.stack([g.sum(0), (g * xhat).sum(0)])
    if len(g) == 0:
        return g, own[1], own[0]
    total = own.clone()
    dist.all_reduce(total)
    return weight * inv * (g - total[0] / n - xhat * total[1] / n), own[1], own[0]
