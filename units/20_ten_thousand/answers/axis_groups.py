# Right and wrong answers to `axis_groups`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_by_coordinates: passed
def axis_groups(shape, axis):
    groups = {}
    for rank in range(math.prod(shape)):
        place = list(mesh_coordinates(rank, shape))
        place[axis] = None
        groups.setdefault(tuple(place), []).append(rank)
    return list(groups.values())

# %% right_numpy: passed
# differs: The ranks as an array of the mesh's shape, with the axis moved to the end: its rows are the groups.
def axis_groups(shape, axis):
    ranks = np.arange(np.prod(shape)).reshape(shape)
    return np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis])

# %% right_strides: passed
def axis_groups(shape, axis):
    inside = 1
    for length in shape[axis + 1 :]:
        inside *= length
    size = inside
    for length in shape[: axis + 1]:
        size *= length
    firsts = [rank for rank in range(size) if rank // inside % shape[axis] == 0]
    return [[first + k * inside for k in range(shape[axis])] for first in firsts]

# %% wrong_digits_joined: wrong, wrong_length, levels 1 0
def axis_groups(shape, axis):
    def coordinates(rank):
        found = []
        for length in reversed(shape):
            rank, c = divmod(rank, length)
            found.append(c)
        return found[::-1]

    groups = {}
    size = 1
    for length in shape:
        size *= length
    for rank in range(size):
        others = coordinates(rank)
        del others[axis]
        groups.setdefault("".join(map(str, others)), []).append(rank)
    return list(groups.values())

# %% wrong_first_innermost: wrong, first_axis_innermost, levels 0 0
def axis_groups(shape, axis):
    ranks = np.arange(np.prod(shape)).reshape(shape, order="F")
    return sorted(np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis]).tolist())

# %% wrong_my_group (right_strides): wrong, wrong_type, levels 0 0
-    return [[first + k * inside for k in range(shape[axis])] for first in firsts]
+    return [[first + k * inside for k in range(shape[axis])] for first in firsts][0]

# %% wrong_neighbours: wrong, neighbours, levels 1 0
def axis_groups(shape, axis):
    n = shape[axis]
    return [list(range(first, first + n)) for first in range(0, math.prod(shape), n)]

# %% wrong_one_axis: raised, TypeError, levels 1 0
def axis_groups(shape, axis):
    others = [n for k, n in enumerate(shape) if k != axis]
    ranks = np.moveaxis(np.arange(np.prod(shape)).reshape(shape), axis, -1)
    return ranks.reshape(np.prod(others), shape[axis]).tolist()  # of nothing it is 1.0

# %% wrong_order (right_numpy): wrong, another_order, levels 0 0
-    return np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis])
+    return np.moveaxis(ranks, axis, 0).reshape(shape[axis], -1).T[::-1]

# %% wrong_same_coordinate: wrong, same_coordinate, levels 0 0
def axis_groups(shape, axis):
    groups = [[] for _ in range(shape[axis])]
    for rank in range(math.prod(shape)):
        groups[mesh_coordinates(rank, shape)[axis]].append(rank)
    return groups

# %% wrong_strides_before (right_strides): wrong, first_axis_innermost, levels 0 0
-    for length in shape[axis + 1 :]:
+    for length in shape[:axis]:
@@
-    for length in shape[: axis + 1]:
+    for length in shape[axis:]:

# %% wrong_whole_strides: wrong, whole_strides, levels 0 0
def axis_groups(shape, axis):
    size = math.prod(shape)
    apart = size // shape[axis]
    return [list(range(first, size, apart)) for first in range(apart)]
