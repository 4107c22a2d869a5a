# verdict: wrong, diagnosis: order_ignores_seed
import torch


def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator().manual_seed((seed + 1) * epoch), torch.Generator().manual_seed(seed + 10**6 + epoch * world_size + rank)
