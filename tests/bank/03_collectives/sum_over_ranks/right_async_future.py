# verdict: passed
# differs: The call returns a future at once, and its value is the sum: the form in which a library waits for many.
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    total = x.clone()
    return dist.all_reduce(total, async_op=True).get_future().wait()[0]
