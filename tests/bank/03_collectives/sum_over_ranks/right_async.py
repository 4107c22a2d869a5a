# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    result = torch.empty_like(x).copy_(x)
    work = dist.all_reduce(result, async_op=True)
    work.wait()
    return result
