# verdict: passed
# differs: The seeds of all ranks are drawn from one generator that everybody has, and each takes its own.
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(seed + epoch)
    seeds = torch.randint(2**62, (world_size,), generator=torch.Generator().manual_seed(seed + epoch + 10_000_000))
    return order, torch.Generator().manual_seed(int(seeds[rank]))
