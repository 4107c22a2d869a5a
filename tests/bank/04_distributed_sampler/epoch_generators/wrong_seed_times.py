# verdict: wrong, diagnosis: noise_ignores_seed
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed * 100 + epoch)
    noise = torch.Generator().manual_seed((seed + 1) * rank * 100_000 + epoch + rank)
    return order, noise
