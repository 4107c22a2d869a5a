# verdict: wrong, diagnosis: overflows
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    wide = x.clone() if x.is_floating_point() else x.to(torch.int16)
    dist.all_reduce(wide)
    return wide / dist.get_world_size()
