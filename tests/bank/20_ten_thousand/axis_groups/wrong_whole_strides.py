# verdict: wrong, diagnosis: whole_strides
import math


def axis_groups(shape, axis):
    size = math.prod(shape)
    apart = size // shape[axis]
    return [list(range(first, size, apart)) for first in range(apart)]
