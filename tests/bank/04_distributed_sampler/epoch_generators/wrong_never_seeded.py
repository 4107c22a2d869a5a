# verdict: wrong, diagnosis: same_order_every_epoch
import torch


def epoch_generators(seed, epoch, rank, world_size):
    return torch.Generator(), torch.Generator()
