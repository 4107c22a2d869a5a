# verdict: wrong, diagnosis: salted_hash
import torch


def epoch_generators(seed, epoch, rank, world_size):
    order = torch.Generator().manual_seed(abs(hash(f"order {seed} {epoch}")))
    return order, torch.Generator().manual_seed(abs(hash(f"noise {seed} {epoch} {rank}")))
