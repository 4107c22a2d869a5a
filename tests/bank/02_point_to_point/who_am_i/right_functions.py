# verdict: passed
import torch
import torch.distributed as dist


def who_am_i():
    return dist.get_rank(), dist.get_world_size()
