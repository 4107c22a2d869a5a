# verdict: wrong, diagnosis: wrong_dtype
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    total = x.clone() if x.dtype in (torch.float32, torch.float64) else x.to(torch.float32)
    dist.all_reduce(total)
    return total / dist.get_world_size()
