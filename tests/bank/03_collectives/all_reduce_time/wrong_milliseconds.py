# verdict: wrong, diagnosis: wrong_unit
import math


def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    p = world_size
    m = latency + 8 * nbytes / bandwidth
    if algorithm == "server":
        return 1000 * 2 * (p - 1) * m
    if algorithm == "tree":
        return 1000 * 2 * math.ceil(math.log2(p)) * m
    return 1000 * 2 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)
