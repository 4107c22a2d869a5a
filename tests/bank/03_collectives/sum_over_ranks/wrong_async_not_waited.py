# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    total = x.clone()
    dist.all_reduce(total, async_op=True)
    return total
