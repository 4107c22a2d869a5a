# verdict: wrong, diagnosis: all_at_once
import math


def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    m = latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        return 2 * m
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * m
    return 2 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)
