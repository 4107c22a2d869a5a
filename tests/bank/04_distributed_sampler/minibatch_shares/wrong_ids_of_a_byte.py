# verdict: wrong, diagnosis: sample_left_out
import torch


def minibatch_shares(order, batch_size, rank, world_size):
    ids = torch.tensor(order).to(torch.uint8)
    return [minibatch[rank::world_size].tolist() for minibatch in ids.split(batch_size)]
