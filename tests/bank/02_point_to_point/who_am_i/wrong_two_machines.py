# verdict: wrong, diagnosis: always_two
import torch
import torch.distributed as dist


def who_am_i():
    rank = dist.get_rank()
    return rank, 2
