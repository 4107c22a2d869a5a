# verdict: wrong, diagnosis: latency_once
import math


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    p = world_size
    seconds = 8 * nbytes / bandwidth
    if algorithm == "server":
        return latency + 2 * (p - 1) * seconds
    if algorithm == "tree":
        return latency + 2 * math.ceil(math.log2(p)) * seconds
    return latency + 2 * (p - 1) * seconds / p
