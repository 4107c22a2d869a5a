# verdict: wrong, diagnosis: strides_of_the_wrong_axis
import math


def mesh_coordinates(rank, shape):
    if not 0 <= rank < math.prod(shape):
        raise ValueError(rank)
    return tuple(rank // n % n for n in shape)
