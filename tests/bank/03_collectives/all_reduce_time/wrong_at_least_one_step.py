# verdict: wrong, diagnosis: alone_it_waits
import math


def all_reduce_time(algorithm, world_size, nbytes, latency, bandwidth):
    steps = math.ceil(math.log2(world_size)) if algorithm == "tree" else world_size - 1
    size = nbytes / world_size if algorithm == "ring" else nbytes
    return 2 * max(1, steps) * (latency + 8 * size / bandwidth)
