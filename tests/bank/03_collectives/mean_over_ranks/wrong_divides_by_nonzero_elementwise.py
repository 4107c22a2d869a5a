# verdict: wrong, diagnosis: zeros_not_counted
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    total = x.clone() if x.is_floating_point() else x.double()
    there = (x != 0).to(total.dtype)
    dist.all_reduce(total)
    dist.all_reduce(there)
    return total / there.clamp(min=1)
