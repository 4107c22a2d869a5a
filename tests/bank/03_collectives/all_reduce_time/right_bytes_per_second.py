# verdict: passed
import math


from fractions import Fraction


def all_reduce_time(algorithm: str, world_size: int, nbytes: int, latency: float, bandwidth: float) -> float:
    alpha, beta = Fraction(latency), 1 / (Fraction(bandwidth) / 8)
    if algorithm == "tree":
        total = 2 * (world_size - 1).bit_length() * (alpha + nbytes * beta)
    elif algorithm == "server":
        total = (world_size - 1) * (alpha + nbytes * beta) + (world_size - 1) * (alpha + nbytes * beta)
    else:
        total = 2 * (world_size - 1) * alpha + 2 * Fraction(world_size - 1, world_size) * nbytes * beta
    return float(total)
