# verdict: wrong, diagnosis: sample_left_out
import torch


def strided_share(n, rank, world_size):
    return torch.linspace(rank, n - 1, len(range(rank, n, world_size)))
