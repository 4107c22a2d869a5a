# verdict: passed
import numpy as np


def minibatch_shares(order, batch_size, rank, world_size):
    starts = range(0, len(order), batch_size)
    shares = np.empty(len(starts), dtype=object)
    for step, start in enumerate(starts):
        shares[step] = np.array(order[start : start + batch_size])[rank::world_size]
    return shares
