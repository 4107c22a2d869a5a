# verdict: wrong, diagnosis: shared_generator
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order = torch.manual_seed(seed + epoch)
    noise = torch.manual_seed(seed + 1_000_000 + epoch * world_size + rank)
    return order, noise
