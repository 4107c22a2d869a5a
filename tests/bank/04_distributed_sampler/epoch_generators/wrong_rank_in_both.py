# verdict: wrong, diagnosis: orders_differ
import torch


def epoch_generators(seed, epoch, rank, world_size):
    number = (seed + epoch) * world_size + rank
    return torch.Generator().manual_seed(number), torch.Generator().manual_seed(number + 1_000_000)
