# verdict: wrong, diagnosis: padded
import math


def strided_share(n, rank, world_size):
    size = math.ceil(n / world_size)
    return [(rank + k * world_size) % n for k in range(size)]
