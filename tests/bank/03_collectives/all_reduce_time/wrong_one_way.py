# verdict: wrong, diagnosis: one_way
import math


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    p = world_size
    seconds = 8 * nbytes / bandwidth
    if algorithm == "server":
        return (p - 1) * (latency + seconds)
    if algorithm == "tree":
        return math.ceil(math.log2(p)) * (latency + seconds)
    return (p - 1) * (latency + seconds / p)
