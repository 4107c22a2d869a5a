# verdict: wrong, diagnosis: same_coordinate
import math


def axis_groups(shape, axis):
    groups = [[] for _ in range(shape[axis])]
    for rank in range(math.prod(shape)):
        groups[mesh_coordinates(rank, shape)[axis]].append(rank)
    return groups
