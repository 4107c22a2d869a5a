# verdict: wrong, diagnosis: not_integers
import numpy as np


def minibatch_shares(order, batch_size, rank, world_size):
    order = np.array(order, dtype=float)
    return [order[s : s + batch_size][rank::world_size].tolist() for s in range(0, len(order), batch_size)]
