# Right and wrong answers to `mesh_coordinates`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_divmod: passed
def mesh_coordinates(rank, shape):
    found, inside = [], 1
    for length in shape:
        inside *= length
    if not 0 <= rank < inside:
        raise ValueError(f"there is no rank {rank} of {inside}")
    for length in reversed(shape):
        rank, place = divmod(rank, length)
        found.insert(0, place)
    return tuple(found)

# %% right_numpy: passed
# differs: NumPy has it as `unravel_index`, the error for a rank that does not exist included.
def mesh_coordinates(rank, shape):
    return np.unravel_index(rank, shape)  # it raises ValueError, too

# %% wrong_backwards (right_divmod): wrong, backwards, levels 0 0 1
-        found.insert(0, place)
+        found.append(place)

# %% wrong_first_innermost (right_divmod): wrong, first_axis_innermost, levels 0 0 1
-    for length in reversed(shape):
+    for length in shape:
@@
-        found.insert(0, place)
+        found.append(place)

# %% wrong_from_the_end (right_divmod): wrong, takes_anything, levels 1 1 0
-    if not 0 <= rank < inside:
+    if rank == -1 or not -inside <= rank < inside:

# %% wrong_negative_rank (right_divmod): wrong, takes_anything, levels 1 1 0
-    if not 0 <= rank < inside:
+    if rank >= inside:

# %% wrong_no_axes: raised, TypeError, levels 1 0 0
import functools
import operator


def mesh_coordinates(rank, shape):
    if rank not in range(functools.reduce(operator.mul, shape)):
        raise ValueError(f"no rank {rank}")
    found = []
    for length in reversed(shape):
        rank, place = divmod(rank, length)
        found.insert(0, place)
    return tuple(found)

# %% wrong_own_length: wrong, strides_of_the_wrong_axis, levels 0 0 1
def mesh_coordinates(rank, shape):
    if not 0 <= rank < math.prod(shape):
        raise ValueError(rank)
    return tuple(rank // n % n for n in shape)

# %% wrong_product_of_32_bits: wrong, refuses_what_can_be, levels 1 0 1
def mesh_coordinates(rank, shape):
    if not 0 <= rank < np.prod(shape, dtype=np.int32):
        raise ValueError(f"no rank {rank}")
    found = []
    for length in reversed(shape):
        rank, place = divmod(rank, length)
        found.insert(0, place)
    return tuple(found)

# %% wrong_refuses_the_last (right_divmod): wrong, refuses_what_can_be, levels 0 0 1
-    if not 0 <= rank < inside:
+    if not 0 <= rank < inside - 1:

# %% wrong_takes_anything: wrong, takes_anything, levels 1 1 0
def mesh_coordinates(rank, shape):
    found = []
    for length in reversed(shape):
        found.insert(0, rank % length)
        rank //= length
    return tuple(found)

# %% wrong_three_axes_only: wrong, refuses_what_can_be, levels 1 0 1
def mesh_coordinates(rank, shape):
    data, pipeline, tensor = shape
    if not 0 <= rank < data * pipeline * tensor:
        raise ValueError(rank)
    return rank // (pipeline * tensor), rank // tensor % pipeline, rank % tensor

# %% wrong_up_to_four_axes: wrong, wrong_length, levels 1 0 1
def mesh_coordinates(rank, shape):
    """Up to four axes."""
    if not 0 <= rank < math.prod(shape):
        raise ValueError(f"there is no rank {rank}")
    a, b, c, d = ((1,) * (4 - len(shape)) + tuple(shape))[-4:]
    place = rank // (b * c * d) % a, rank // (c * d) % b, rank // d % c, rank % d
    return place[max(0, 4 - len(shape)) :]

# %% wrong_whole_mesh: out_of_memory, out_of_memory, levels 1 0 0
import torch


def mesh_coordinates(rank, shape):
    ranks = torch.arange(torch.Size(shape).numel()).reshape(shape)
    places = (ranks == rank).nonzero()
    if len(places) == 0:
        raise ValueError("no such rank")
    return places[0]
