# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    gw, gb = (g * xhat).sum(0), g.sum(0)
    both = torch.cat([g.mean(0), (g * xhat).mean(0)])
    dist.all_reduce(both)
    sg, sgx = both.chunk(2)
    p = dist.get_world_size()
    return weight * inv * (g - sg / p - xhat * sgx / p), gw, gb
