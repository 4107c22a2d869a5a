# verdict: wrong, diagnosis: zeros_not_counted
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    total = x.clone() if x.is_floating_point() else x.double()
    there = torch.tensor(float(x.any()))
    dist.all_reduce(total)
    dist.all_reduce(there)
    return (total / there).to(total.dtype)
