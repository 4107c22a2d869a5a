# verdict: wrong, diagnosis: shared_generator
import torch


def epoch_generators(seed, epoch, rank, world_size):
    g = torch.Generator().manual_seed(seed + epoch)
    return g, g
