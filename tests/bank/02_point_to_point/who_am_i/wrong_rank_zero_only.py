# verdict: wrong, diagnosis: rank_zero_only
import torch
import torch.distributed as dist


def who_am_i():
    if dist.get_rank() == 0:
        return dist.get_rank(), dist.get_world_size()
