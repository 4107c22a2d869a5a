# verdict: wrong, diagnosis: returns_nothing
import math


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    print(2 * (world_size - 1) * (latency + 8 * nbytes / bandwidth))
