# verdict: wrong, diagnosis: out_of_range
import math


def strided_share(n, rank, world_size):
    return [rank + k * world_size for k in range(math.ceil(n / world_size))]
