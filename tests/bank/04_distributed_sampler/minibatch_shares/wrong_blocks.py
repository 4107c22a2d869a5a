# verdict: wrong, diagnosis: blocks
import numpy as np


def minibatch_shares(order, batch_size, rank, world_size):
    return [
        np.array_split(order[start : start + batch_size], world_size)[rank].tolist() for start in range(0, len(order), batch_size)
    ]
