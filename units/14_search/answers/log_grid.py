# Right and wrong answers to `log_grid`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_geomspace: passed
def log_grid(low, high, n):
    if low <= 0 or high <= low or n < 2:
        raise ValueError("0 < low < high, and at least two points")
    return np.geomspace(low, high, n).tolist()

# %% right_multiplies: passed
def log_grid(low, high, n):
    if not 0 < low < high or n < 2:
        raise ValueError
    factor, points = (high / low) ** (1 / (n - 1)), [low]
    for _ in range(n - 1):
        points.append(points[-1] * factor)
    return points

# %% right_ratio: passed
# differs: From point to point the same ratio: the definition, without logarithms.
def log_grid(low, high, n):
    if not (0 < low < high) or n <= 1:
        raise ValueError(f"no grid from {low} to {high} with {n} points")
    ratio = (high / low) ** (1 / (n - 1))
    return [low * ratio**k for k in range(n)]

# %% wrong_an_array (right_geomspace): wrong, other_type, levels 0 0 1
-    return np.geomspace(low, high, n).tolist()
+    return np.geomspace(low, high, n)

# %% wrong_any_ends: wrong, takes_anything, levels 1 1 0
def log_grid(low, high, n):
    return np.exp(np.linspace(np.log(low), np.log(high), n)).tolist()

# %% wrong_bases (right_geomspace): wrong, two_bases, levels 0 0 1
-    return np.geomspace(low, high, n).tolist()
+    return np.exp(np.linspace(np.log10(low), np.log10(high), n)).tolist()

# %% wrong_down: wrong, takes_anything, levels 1 1 0
def log_grid(low, high, n):
    if low <= 0 or n < 2:
        raise ValueError("no logarithm")
    return [low * (high / low) ** (k / (n - 1)) for k in range(n)]

# %% wrong_ends_rounded: wrong, ends_rounded, levels 1 0 1
def log_grid(low, high, n):
    if not 0 < low < high or n < 2:
        raise ValueError("no grid")
    return np.logspace(round(np.log10(low)), round(np.log10(high)), n).tolist()

# %% wrong_linear (right_geomspace): wrong, linear_grid, levels 0 0 1
-    return np.geomspace(low, high, n).tolist()
+    return np.linspace(low, high, n).tolist()

# %% wrong_logspace (right_geomspace): wrong, ends_as_exponents, levels 0 0 1
-    return np.geomspace(low, high, n).tolist()
+    return np.logspace(low, high, n).tolist()

# %% wrong_low_above_one: wrong, raises_without_reason, levels 1 0 1
def log_grid(low, high, n):
    if not 0 < low < high <= 1 or n < 2:
        raise ValueError
    return np.geomspace(low, high, n).tolist()

# %% wrong_middles (right_geomspace): wrong, middles, levels 0 0 1
-    return np.geomspace(low, high, n).tolist()
+    return [low * (high / low) ** ((k + 0.5) / n) for k in range(n)]

# %% wrong_no_end (right_geomspace): wrong, without_the_end, levels 0 0 1
-    return np.geomspace(low, high, n).tolist()
+    return np.geomspace(low, high, n, endpoint=False).tolist()

# %% wrong_only_the_ratio: wrong, takes_anything, levels 1 1 0
def log_grid(low, high, n):
    if n < 2 or low == 0 or high / low <= 1:
        raise ValueError("illegal bounds")
    ratio = high / low
    return [low * ratio ** (k / (n - 1)) for k in range(n)]

# %% wrong_powers (right_geomspace): wrong, powers_of_ten, levels 0 0 1
-    return np.geomspace(low, high, n).tolist()
+    return (10.0 ** np.round(np.linspace(np.log10(low), np.log10(high), n))).tolist()

# %% wrong_refuses_everything: wrong, raises_without_reason, levels 0 0 0
def log_grid(*arguments, **options):
    raise ValueError("not today")

# %% wrong_root_of_a_product (right_geomspace): wrong, power_underflows, levels 0 1 1
# a grid of 120 points: 1e-6 to the power of 118 is 0, and so is its root
-    return np.geomspace(low, high, n).tolist()
+    points = [(low ** (n - 1 - k) * high**k) ** (1 / (n - 1)) for k in range(n)]
+    return [low, *points[1:-1], high]

# %% wrong_ten_decimals (right_geomspace): wrong, unrecognised, levels 1 0 1
-    return np.geomspace(low, high, n).tolist()
+    return [low, *(round(x, 10) for x in np.geomspace(low, high, n).tolist()[1:-1]), high]

# %% wrong_torch_float32: wrong, lost_digits, levels 0 0 1
import math
import torch


def log_grid(low, high, n):
    if not 0 < low < high or n < 2:
        raise ValueError
    return torch.logspace(math.log10(low), math.log10(high), n).tolist()

# %% wrong_while_below_the_end (right_multiplies): wrong, wrong_length, levels 1 0 1
-    for _ in range(n - 1):
+    while points[-1] * factor <= high * (1 + 1e-9):
