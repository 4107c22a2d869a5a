# verdict: passed
import numpy as np


def minibatch_shares(order, batch_size, rank, world_size):
    order = np.asarray(order)
    cuts = range(batch_size, len(order), batch_size)
    return [minibatch[rank::world_size] for minibatch in np.split(order, cuts)]
