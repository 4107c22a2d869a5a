# verdict: passed
import torch
from torch.utils.data import BatchSampler


def minibatch_shares(order, batch_size, rank, world_size):
    return [torch.tensor(ids)[rank::world_size] for ids in BatchSampler(order, batch_size, drop_last=False)]
