# verdict: wrong, diagnosis: same_order_every_epoch
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed * epoch)
    noise = torch.Generator().manual_seed(seed * 1_000_000 + epoch * world_size + rank)
    return order, noise
