# verdict: wrong, diagnosis: out_of_range
import numpy as np


def minibatch_shares(order, batch_size, rank, world_size):
    n = len(order)
    full = np.full(-(-n // batch_size) * batch_size, -1)
    full[:n] = order
    return [b[rank::world_size] for b in full.reshape(-1, batch_size)]
