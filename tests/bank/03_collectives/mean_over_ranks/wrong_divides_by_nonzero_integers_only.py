# verdict: wrong, diagnosis: zeros_not_counted
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    if x.is_floating_point():
        total = x.clone()
        dist.all_reduce(total)
        return total / dist.get_world_size()
    total, there = x.double(), (x != 0).double()
    dist.all_reduce(total)
    dist.all_reduce(there)
    return total / there.clamp(min=1)
