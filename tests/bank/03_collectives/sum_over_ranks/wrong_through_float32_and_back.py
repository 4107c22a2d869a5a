# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    total = x.to(torch.float32)
    if total is x:
        total = x.clone()
    dist.all_reduce(total)
    return total.to(x.dtype)
