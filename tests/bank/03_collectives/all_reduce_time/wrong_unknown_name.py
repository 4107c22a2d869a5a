# verdict: wrong, diagnosis: returns_nothing
import math


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    p = world_size
    message = latency + 8 * nbytes / bandwidth
    if algorithm == "parameter server":
        return 2 * (p - 1) * message
    if algorithm == "tree":
        return 2 * math.ceil(math.log2(p)) * message
    if algorithm == "ring":
        return 2 * (p - 1) * (latency + 8 * nbytes / p / bandwidth)
