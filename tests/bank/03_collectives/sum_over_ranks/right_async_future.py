# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    total = x.clone()
    return dist.all_reduce(total, async_op=True).get_future().wait()[0]
