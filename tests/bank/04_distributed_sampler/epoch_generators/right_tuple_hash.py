# verdict: passed
import torch


def epoch_generators(seed, epoch, rank, world_size):
    return (
        torch.Generator().manual_seed(hash((seed, epoch)) % 2**63),
        torch.Generator().manual_seed(hash((seed, epoch, rank, 1)) % 2**63),
    )
