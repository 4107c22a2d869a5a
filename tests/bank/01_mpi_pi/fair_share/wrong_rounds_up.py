# verdict: wrong, diagnosis: rounds_up
import math


def fair_share(n, rank, world_size):
    size = math.ceil(n / world_size)
    start = min(n, rank * size)
    return start, min(n, start + size)
