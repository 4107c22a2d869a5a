# verdict: passed
import torch


def epoch_generators(seed, epoch, rank, world_size):
    g1 = torch.Generator()
    g1.manual_seed(seed + epoch)
    g2 = torch.Generator()
    g2.manual_seed(seed * 1_000_000 + rank * 1000 + epoch)
    return [g1, g2]
