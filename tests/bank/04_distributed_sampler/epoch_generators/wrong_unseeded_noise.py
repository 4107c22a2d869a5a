# verdict: wrong, diagnosis: unseeded
import torch


def epoch_generators(seed, epoch, rank, world_size):
    noise = torch.Generator()
    noise.seed()
    return torch.Generator().manual_seed(seed + epoch), noise
