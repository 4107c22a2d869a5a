# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    total = x.clone()
    work = dist.all_reduce(total, async_op=True)
    result = total.clone()
    work.wait()
    return result
