# verdict: passed
# differs: The three ways differ in rounds and in the part of the vector that a round moves; the formula itself is written once.
import math


import numpy as np


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float):
    match algorithm:
        case "server":
            rounds, part = world_size - 1, 1.0
        case "tree":
            rounds, part = np.ceil(np.log2(world_size)), 1.0
        case "ring":
            rounds, part = world_size - 1, 1.0 / world_size
    return np.float64(2.0) * rounds * (latency + part * nbytes / (bandwidth / 8.0))
