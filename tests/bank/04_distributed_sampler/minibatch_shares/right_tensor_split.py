# verdict: passed
import torch


def minibatch_shares(order, batch_size, rank, world_size):
    return [part[rank::world_size] for part in torch.as_tensor(order).split(batch_size)]
