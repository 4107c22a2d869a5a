# verdict: wrong, diagnosis: both_ends
import math


def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    m = latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        return 4 * (p - 1) * m
    if algorithm == "tree":
        return 4 * math.ceil(math.log2(p)) * m
    return 4 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)
