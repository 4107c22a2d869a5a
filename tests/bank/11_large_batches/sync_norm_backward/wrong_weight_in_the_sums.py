# verdict: wrong, diagnosis: weight_in_the_sums
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    weighed = g * weight
    own = torch.stack([weighed.sum(0), (weighed * xhat).sum(0)])
    total = own.clone()
    dist.all_reduce(total)
    return inv * (weighed - total[0] / n - xhat * total[1] / n), own[1], own[0]
