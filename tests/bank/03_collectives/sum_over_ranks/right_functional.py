# verdict: passed
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as fc


def sum_over_ranks(x):
    return fc.all_reduce(x, "sum", dist.group.WORLD).clone()
