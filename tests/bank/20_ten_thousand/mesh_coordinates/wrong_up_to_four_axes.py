# verdict: wrong, diagnosis: wrong_length
import math


def mesh_coordinates(rank, shape):
    """Up to four axes."""
    if not 0 <= rank < math.prod(shape):
        raise ValueError(f"there is no rank {rank}")
    a, b, c, d = ((1,) * (4 - len(shape)) + tuple(shape))[-4:]
    place = rank // (b * c * d) % a, rank // (c * d) % b, rank // d % c, rank % d
    return place[max(0, 4 - len(shape)) :]
