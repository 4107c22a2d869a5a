# verdict: wrong, diagnosis: neighbours
import math


def axis_groups(shape, axis):
    n = shape[axis]
    return [list(range(first, first + n)) for first in range(0, math.prod(shape), n)]
