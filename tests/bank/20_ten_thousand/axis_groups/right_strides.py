# verdict: passed
def axis_groups(shape, axis):
    inside = 1
    for length in shape[axis + 1 :]:
        inside *= length
    size = inside
    for length in shape[: axis + 1]:
        size *= length
    firsts = [rank for rank in range(size) if rank // inside % shape[axis] == 0]
    return [[first + k * inside for k in range(shape[axis])] for first in firsts]
