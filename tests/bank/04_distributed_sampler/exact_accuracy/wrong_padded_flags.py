# verdict: wrong, diagnosis: evaluated_twice
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def exact_accuracy(n, is_correct):
    flags = torch.zeros(n)
    for i in DistributedSampler(range(n), shuffle=False):
        flags[i] = is_correct(i)
    dist.all_reduce(flags, op=dist.ReduceOp.MAX)
    return flags.mean().item()
