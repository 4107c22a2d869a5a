# verdict: wrong, diagnosis: changes_the_global
import torch


def epoch_generators(seed, epoch, rank, world_size):
    torch.manual_seed(seed)
    order = torch.Generator().manual_seed(seed + epoch)
    noise = torch.Generator().manual_seed(seed * 7 + 100_000 + epoch * world_size + rank)
    return order, noise
