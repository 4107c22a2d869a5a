# verdict: wrong, diagnosis: divided_by_own_n
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    gw, gb = (g * xhat).mean(0), g.mean(0)
    both = torch.cat([(g * xhat).sum(0), g.sum(0)])
    dist.all_reduce(both)
    sgx, sg = both.chunk(2)
    return weight * inv * (g - sg / n - xhat * sgx / n), gw, gb
