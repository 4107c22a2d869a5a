# Right and wrong answers to `serial_fraction`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_formula: passed
def serial_fraction(world_size, speedup, speedup_error):
    if world_size == 1:
        return math.nan, math.nan
    scale = 1 - 1 / world_size
    return (1 / speedup - 1 / world_size) / scale, speedup_error / speedup**2 / scale

# %% right_labkit: passed
# differs: The course's own estimate carries the error along, so that no derivative has to be written down.
from labkit import scaling


def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return float("nan"), float("nan")
    x = scaling.karp_flatt(scaling.Estimate(s, e), p)
    return x.value, x.error

# %% right_numpy_nan: passed
def serial_fraction(world_size, speedup, speedup_error):
    scale = np.where(world_size == 1, np.nan, 1 - 1 / world_size)
    return np.array([1 / speedup - 1 / world_size, speedup_error / speedup**2]) / scale

# %% right_other_form: passed
def serial_fraction(world_size, speedup, speedup_error):
    p = world_size
    if p < 2:
        return float("nan"), float("nan")
    f = (p / speedup - 1) / (p - 1)
    slope = -p / ((p - 1) * speedup**2)
    return f, abs(slope) * speedup_error

# %% right_try: passed
def serial_fraction(world_size, speedup, speedup_error):
    try:
        f = (world_size - speedup) / (speedup * (world_size - 1))
        return [f, world_size / (world_size - 1) * (speedup_error / speedup) / speedup]
    except ZeroDivisionError:
        return [math.nan] * 2

# %% wrong_absolute_value: wrong, absolute_value, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = abs((1 / s - 1 / p) / (1 - 1 / p))
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_amdahl_backwards: wrong, amdahl_backwards, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = 1 / (s + (1 - s) / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_clipped: wrong, clipped, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = max(0.0, (1 / s - 1 / p) / (1 - 1 / p))
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_difference: wrong, difference, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = abs((1 / (s + ds) - 1 / s) / (1 - 1 / p))
    return f, df

# %% wrong_divided_by_p: wrong, not_normalised, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (p / s - 1) / p
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_error_in_the_formula: wrong, inverse_of_error, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = (1 / ds - 1 / p) / (1 - 1 / p)
    return f, df

# %% wrong_error_negative_for_super: wrong, negative_error, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    return f, math.copysign(e / s**2 / (1 - 1 / p), f)

# %% wrong_error_not_carried: wrong, error_not_carried, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds
    return f, df

# %% wrong_float32: wrong, float32, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    p, s, e = map(np.float32, (p, s, e))
    return float((1 / s - 1 / p) / (1 - 1 / p)), float(e / s**2 / (1 - 1 / p))

# %% wrong_gustafson: wrong, gustafson, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (p - s) / (p - 1)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_infinite_on_one_rank: wrong, infinite_on_one_rank, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.inf, math.inf
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_interval: wrong, interval, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = 1.96 * ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_inverse_efficiency: wrong, inverse_efficiency, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = p / s - 1
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_largest_speedup: wrong, largest_speedup, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 - 1 / p) / (1 / s - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_lost_efficiency: wrong, lost_efficiency, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = 1 - s / p
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_nan_zero: wrong, error_0_on_one_rank, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, 0.0
    return (1 / s - 1 / p) / (1 - 1 / p), e / s**2 / (1 - 1 / p)

# %% wrong_negative_error: wrong, negative_error, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = -ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_none_on_one_rank: wrong, none_on_one_rank, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return None, None
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_not_normalised: wrong, not_normalised, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = 1 / s - 1 / p
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_one_on_one_rank: wrong, one_on_one_rank, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return 1.0, 0.0
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_one_rank_forgotten: raised, ZeroDivisionError, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    f = (1 / speedup - 1 / world_size) / (1 - 1 / world_size)
    return f, speedup_error / speedup**2 / (1 - 1 / world_size)

# %% wrong_parallel_fraction: wrong, parallel_fraction, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = 1 - (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_percent: wrong, percent, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = 100 * (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_relative_error: wrong, relative_error, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p) / f
    return f, df

# %% wrong_relative_error_and_sign: wrong, relative_kept_and_sign, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error) -> tuple[float, float]:
    if world_size == 1:
        return math.nan, math.nan
    fraction = (1 / speedup - 1 / world_size) / (1 - 1 / world_size)
    return fraction, fraction * speedup_error / speedup

# %% wrong_relative_error_of_the_numerator (right_formula): raised, zero_fraction, levels 1 0 1
-    scale = 1 - 1 / world_size
-    return (1 / speedup - 1 / world_size) / scale, speedup_error / speedup**2 / scale
+    numerator = 1 / speedup - 1 / world_size
+    fraction = numerator / (1 - 1 / world_size)
+    relative = speedup_error / speedup**2 / numerator
+    return fraction, abs(fraction * relative)

# %% wrong_relative_kept: wrong, relative_kept, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = abs(f) * ds / s
    return f, df

# %% wrong_returns_none_on_one_rank: wrong, returns_nothing, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return None
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_slope_not_normalised: wrong, slope_not_normalised, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2
    return f, df

# %% wrong_slope_of_first_power: wrong, slope_of_first_power, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s / (1 - 1 / p)
    return f, df

# %% wrong_slowdown_one: wrong, cut_off_at_1, levels 0 1 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    return min(1.0, (1 / s - 1 / p) / (1 - 1 / p)), e / s**2 / (1 - 1 / p)

# %% wrong_speedup_1_is_the_baseline (right_formula): wrong, unrecognised, levels 0 1 1
-    if world_size == 1:
+    if speedup == 1 or world_size == 1:

# %% wrong_speedup_upside_down: wrong, speedup_upside_down, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_superlinear_nan: wrong, undefined_by_speedup, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1 or s > p:
        return math.nan, math.nan
    return (1 / s - 1 / p) / (1 - 1 / p), e / s**2 / (1 - 1 / p)

# %% wrong_sure_when_perfect: wrong, zero_fraction, levels 1 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    if f == 0:
        return 0.0, 0.0  # perfect
    return f, ds / s**2 / (1 - 1 / p)

# %% wrong_swapped: wrong, swapped, levels 0 0 1
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return df, f

# %% wrong_zero_on_one_rank: wrong, zero_on_one_rank, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return 0.0, 0.0
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df

# %% wrong_zero_over_zero: wrong, infinite_on_one_rank, levels 1 1 0
def serial_fraction(world_size, speedup, speedup_error):
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.float64(1) - 1 / world_size
        fraction = np.float64(1 / speedup - 1 / world_size) / scale
    return np.array([fraction, speedup_error / speedup**2 / scale if scale else np.nan])
