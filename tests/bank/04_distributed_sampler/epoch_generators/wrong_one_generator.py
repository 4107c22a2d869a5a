# verdict: wrong, diagnosis: not_generators
import torch


def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed(seed + epoch)
