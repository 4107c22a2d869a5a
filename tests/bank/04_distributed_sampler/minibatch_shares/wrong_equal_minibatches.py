# verdict: wrong, diagnosis: mixes_minibatches
import math

import numpy as np


def minibatch_shares(order, batch_size, rank, world_size):
    steps = math.ceil(len(order) / batch_size)
    return [minibatch[rank::world_size].tolist() for minibatch in np.array_split(order, steps)]
