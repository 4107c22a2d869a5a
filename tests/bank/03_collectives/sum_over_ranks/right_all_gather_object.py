# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    p = dist.get_world_size()
    got = [None] * p
    dist.all_gather_object(got, x)
    return torch.stack(got).sum(0, dtype=x.dtype)
