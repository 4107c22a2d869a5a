# verdict: wrong, diagnosis: swapped
import torch
import torch.distributed as dist


def who_am_i():
    return dist.get_world_size(), dist.get_rank()
