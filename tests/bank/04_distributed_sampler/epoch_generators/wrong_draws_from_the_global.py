# verdict: wrong, diagnosis: changes_the_global
import torch


def epoch_generators(seed, epoch, rank, world_size):
    torch.manual_seed(seed + epoch * 1000)
    order = torch.Generator().manual_seed(int(torch.randint(2**60, ())))
    torch.manual_seed(seed * 1_000_003 + (epoch * world_size + rank))
    noise = torch.Generator().manual_seed(int(torch.randint(2**60, ())))
    return order, noise
