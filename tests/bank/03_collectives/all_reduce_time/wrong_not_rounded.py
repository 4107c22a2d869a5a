# verdict: wrong, diagnosis: log2_not_rounded
import math


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    p = world_size
    seconds = 8 * nbytes / bandwidth
    if algorithm == "server":
        return 2 * (p - 1) * (latency + seconds)
    if algorithm == "tree":
        return 2 * math.log2(p) * (latency + seconds)
    return 2 * (p - 1) * (latency + seconds / p)
