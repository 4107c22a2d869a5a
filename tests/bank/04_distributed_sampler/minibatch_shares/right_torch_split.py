# verdict: passed
# differs: First `split` cuts the minibatches, then a slice with a stride deals each of them out, all in one line.
import torch


def minibatch_shares(order, batch_size, rank, world_size):
    return [piece[rank::world_size] for piece in torch.tensor(order).split(batch_size)]
