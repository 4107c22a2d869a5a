# verdict: wrong, diagnosis: counts_from_one
import torch
import torch.distributed as dist


def who_am_i():
    return dist.get_rank() + 1, dist.get_world_size()
