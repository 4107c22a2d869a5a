# verdict: wrong, diagnosis: first_axis_innermost
def axis_groups(shape, axis):
    inside = 1
    for length in shape[:axis]:
        inside *= length
    size = inside
    for length in shape[axis:]:
        size *= length
    firsts = [rank for rank in range(size) if rank // inside % shape[axis] == 0]
    return [[first + k * inside for k in range(shape[axis])] for first in firsts]
