# verdict: wrong, diagnosis: returns_nothing
import torch
import torch.distributed as dist


def who_am_i():
    print(dist.get_rank(), "of", dist.get_world_size())
