# verdict: wrong, diagnosis: always_rank_zero
import torch
import torch.distributed as dist


def who_am_i():
    rank, world_size = 0, dist.get_world_size()
    return rank, world_size
