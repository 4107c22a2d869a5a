# Right and wrong answers to `count_inside`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_blocks_where: passed
BLOCK = 256


def count_inside(x, y):
    inside = 0.0
    for first in range(0, len(x), BLOCK):
        block = np.stack((x[first : first + BLOCK], y[first : first + BLOCK]), axis=1)
        inside += np.where(np.linalg.norm(block, axis=1) < 0.5, 1.0, 0.0).sum()
    return inside

# %% right_count_nonzero: passed
def count_inside(x, y):
    return np.count_nonzero(x * x + y * y < 0.25)

# %% right_hypot_len: passed
def count_inside(x, y):
    distance = np.hypot(x, y)
    return len(x[distance < 0.5])

# %% right_map_over_the_two_axes: passed
# differs: It maps over the two axes in place of writing x and y out: the same rule would do in three dimensions.
def count_inside(x, y):
    return int(np.sum(sum(map(np.square, (x, y))) < 0.25))

# %% right_mask_sum: passed
# differs: It adds up a mask, in which True counts as 1; points exactly on the circle count here, where drawn numbers hardly ever lie.
def count_inside(x, y):
    """Number of points closer than 1/2 to the middle."""
    radius = 0.5
    return ((x**2 + y**2) <= radius**2).sum()

# %% right_torch: passed
def count_inside(x, y):
    import torch

    points = torch.stack([torch.from_numpy(x), torch.from_numpy(y)])
    return (points.norm(dim=0) < 0.5).sum().item()

# %% wrong_ceil_needs_the_square: wrong, unrecognised, levels 0 1
def count_inside(x: np.ndarray, y: np.ndarray) -> int:
    return int(np.ceil(0.25 - x * x - y * y).sum())

# %% wrong_counts_in_16_bits: wrong, narrow_count, levels 0 1
def count_inside(x, y):
    return int(np.sum(x * x + y * y < 0.25, dtype=np.int16))

# %% wrong_counts_in_a_byte: wrong, narrow_count, levels 0 0
def count_inside(x, y):
    return int((x**2 + y**2 < 0.25).sum(dtype=np.uint8))

# %% wrong_counts_in_float16: raised, narrow_count, levels 0 1
def count_inside(x, y):
    hits = np.where(x * x + y * y < 0.25, np.float16(1), np.float16(0))
    return int(hits.sum())

# %% wrong_diamond: wrong, diamond, levels 0 0
def count_inside(x, y):
    return int(np.sum(np.abs(x) + np.abs(y) < 0.5))

# %% wrong_each_point_once: wrong, each_once, levels 0 1
def count_inside(x, y):
    return len(np.unique(x[x * x + y * y < 0.25]))

# %% wrong_first_one_outside: wrong, counts_all, levels 0 1
def count_inside(x, y):
    if x.size == 0:
        return 0
    r = np.sort(np.hypot(x, y))
    return int(np.argmax(r >= 0.5)) or len(r)

# %% wrong_float32: wrong, through_float32, levels 0 1
def count_inside(x: np.ndarray, y: np.ndarray) -> int:
    x, y = x.astype(np.float32), y.astype(np.float32)  # half the memory
    return int(np.count_nonzero(x * x + y * y < 0.25))

# %% wrong_fraction: wrong, fraction, levels 0 0
def count_inside(x, y):
    if len(x) == 0:
        return 0
    return np.mean(x * x + y * y < 0.25)

# %% wrong_frompyfunc: wrong, python_loop, levels 1 0
def count_inside(x, y):
    if len(x) == 0:
        return 0
    distance = np.frompyfunc(math.hypot, 2, 1)
    return int((distance(x, y) < 0.5).sum())

# %% wrong_generator: wrong, python_loop, levels 1 0
def count_inside(x, y):
    return sum(a * a + b * b < 0.25 for a, b in zip(x, y))

# %% wrong_height_at_x: wrong, unrecognised, levels 0 1
def count_inside(x, y):
    # above or below the x axis, how high is the circle at x?
    height = np.sqrt(np.abs(0.25 - x * x))
    return int(np.count_nonzero(np.abs(y) < height))

# %% wrong_if_on_arrays: raised, ValueError, levels 0 0
def count_inside(x, y):
    inside = 0
    if x * x + y * y < 0.25:
        inside += 1
    return inside

# %% wrong_length_of_mask: wrong, counts_all, levels 0 0
def count_inside(x, y):
    inside = x * x + y * y < 0.25
    return len(inside)

# %% wrong_length_of_where: wrong, counts_axes, levels 0 0
def count_inside(x, y):
    return len(np.where(x**2 + y**2 < 0.25))

# %% wrong_list_comprehension: wrong, python_loop, levels 1 0
def count_inside(x, y):
    radii = [(a**2 + b**2) ** 0.5 for a, b in zip(x, y)]
    return len([r for r in radii if r < 0.5])

# %% wrong_map_of_a_c_function: wrong, python_loop, levels 1 0
def count_inside(x, y):
    return sum(map((0.5).__gt__, map(math.hypot, x, y)))

# %% wrong_mean_times_n: raised, mean_of_nothing, levels 0 1
def count_inside(x, y):
    inside = np.hypot(x, y) < 0.5
    return round(float(inside.mean()) * len(x))

# %% wrong_modifies_input: wrong, modifies_input, levels 0 0
def count_inside(x, y):
    x *= x
    y *= y
    x += y
    return int((x < 0.25).sum())

# %% wrong_outside: wrong, counts_outside, levels 0 0
def count_inside(x, y):
    return np.count_nonzero(x * x + y * y > 0.25)

# %% wrong_python_loop: wrong, python_loop, levels 1 0
def count_inside(x, y):
    inside = 0
    for i in range(len(x)):
        if np.sqrt(x[i] * x[i] + y[i] * y[i]) < 0.5:
            inside += 1
    return inside

# %% wrong_radius_1: wrong, counts_all, levels 0 0
def count_inside(x, y):
    return int((x**2 + y**2 < 1).sum())

# %% wrong_radius_not_squared: wrong, counts_all, levels 0 0
def count_inside(x, y):
    return np.sum(x * x + y * y < 0.5)

# %% wrong_radius_squared_twice: wrong, radius_squared_twice, levels 0 0
def count_inside(x, y):
    r = np.sqrt(x**2 + y**2)
    return np.count_nonzero(r < 0.25)

# %% wrong_returns_mask: wrong, returns_mask, levels 0 0
def count_inside(x, y):
    return x * x + y * y < 0.25

# %% wrong_returns_pi: wrong, returns_pi, levels 0 0
def count_inside(x, y):
    inside = np.count_nonzero(x * x + y * y < 0.25)
    return 4 * inside / max(1, len(x))

# %% wrong_second_bin: raised, IndexError, levels 0 1
def count_inside(x, y):
    if len(x) == 0:
        return 0
    return int(np.bincount(x * x + y * y < 0.25)[1])

# %% wrong_share_times_n: wrong, cut_off, levels 0 1
# "how many of the points": 29 of 100 are 0.29 of them, and 0.29 * 100 is 28.999999999999996
def count_inside(x, y):
    if x.size == 0:
        return 0
    return int(np.mean(x * x + y * y < 0.25) * x.size)

# %% wrong_starmap: wrong, python_loop, levels 1 0
from itertools import starmap


def count_inside(x, y):
    return sum(distance < 0.5 for distance in starmap(math.hypot, zip(x, y)))

# %% wrong_vectorize: wrong, python_loop, levels 1 0
@np.vectorize
def hit(x, y):
    return x**2 + y**2 < 0.5**2


def count_inside(x, y):
    return int(hit(x, y).sum()) if len(x) else 0

# %% wrong_vectorize_of_a_c_function: wrong, python_loop, levels 1 0
from numpy import vectorize


def count_inside(x, y):
    if len(x) == 0:
        return 0
    return int((vectorize(math.hypot)(x, y) < 0.5).sum())
