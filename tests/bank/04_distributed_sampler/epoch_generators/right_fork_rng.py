# verdict: passed
import torch


def epoch_generators(seed, epoch, rank, world_size):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed * 1000 + epoch)
        order = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
        torch.manual_seed((seed * 1000 + epoch) * 100_000 + rank)
        noise = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
    return order, noise
