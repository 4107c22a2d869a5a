# verdict: wrong, diagnosis: noise_ignores_seed
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed + epoch)
    noise = torch.Generator()
    noise.manual_seed(noise.initial_seed() + epoch * world_size + rank)
    return order, noise
