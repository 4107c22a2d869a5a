# verdict: wrong, diagnosis: always_four
import torch
import torch.distributed as dist

RANKS = 4


def who_am_i():
    return dist.get_rank(), RANKS
