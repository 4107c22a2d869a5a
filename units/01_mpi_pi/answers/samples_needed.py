# Right and wrong answers to `samples_needed`. In files of their own: autograder bank --write DIR
import math
import numpy as np

# %% right_ceil: passed
def samples_needed(error):
    return math.ceil(math.pi * (4 - math.pi) / error**2)

# %% right_rounded_sigma: passed
def samples_needed(error):
    n = 1
    while 1.642 / n**0.5 > error:
        n *= 2
    low, high = n // 2, n
    while high - low > 1:
        middle = (low + high) // 2
        if 1.642 / middle**0.5 > error:
            low = middle
        else:
            high = middle
    return high

# %% right_sigma: passed
# differs: The standard deviation is worked out from the chance of a hit, not typed in, and the number is rounded up.
p = np.pi / 4


def samples_needed(error):
    sigma = 4 * np.sqrt(p * (1 - p))
    return int(np.ceil((sigma / error) ** 2))

# %% wrong_a_float: wrong, other_type, levels 0
def samples_needed(error):
    return np.ceil(np.pi * (4 - np.pi) / error**2)

# %% wrong_at_least_two: wrong, at_least_two, levels 0
def samples_needed(error):
    n = math.ceil(math.pi * (4 - math.pi) / error**2)
    return max(n, 2)  # one point has no scatter

# %% wrong_confidence_95: wrong, two_standard_errors, levels 0
def samples_needed(error):
    return math.ceil(1.96**2 * math.pi * (4 - math.pi) / error**2)

# %% wrong_error_not_squared: wrong, error_not_squared, levels 0
def samples_needed(error):
    return math.ceil(math.pi * (4 - math.pi) / error)

# %% wrong_error_of_n: wrong, shrinks_with_error, levels 0
def samples_needed(error):
    return math.sqrt(math.pi * (4 - math.pi)) / math.sqrt(1 / error)

# %% wrong_fixed: wrong, too_many, levels 0
def samples_needed(error):
    return 1_000_000

# %% wrong_forgets_4: wrong, forgets_4, levels 0
def samples_needed(error):
    p = math.pi / 4
    return math.ceil(p * (1 - p) / error**2)

# %% wrong_forgets_square: wrong, forgets_square, levels 0
def samples_needed(error):
    return math.ceil(math.sqrt(math.pi * (4 - math.pi)) / error)

# %% wrong_four_once: wrong, too_few, levels 0
def samples_needed(error):
    share = math.pi / 4
    return math.ceil(4 * share * (1 - share) / error**2)

# %% wrong_in_int64: wrong, overflow, levels 0
def samples_needed(error):
    n = np.ceil(np.float64(np.pi * (4 - np.pi)) / error**2)
    return max(1, int(n.astype(np.int64)))

# %% wrong_in_uint64: wrong, overflow, levels 0
def samples_needed(error):
    n = np.ceil(np.pi * (4 - np.pi) / error**2)
    return int(np.uint64(n))

# %% wrong_int32: wrong, overflow, levels 0
def samples_needed(error):
    return np.ceil(np.pi * (4 - np.pi) / error**2).astype(np.int32)

# %% wrong_not_rounded: wrong, not_rounded, levels 0
def samples_needed(error):
    return 3.14 * 0.86 * error**-2

# %% wrong_one_from_1_on (right_ceil): wrong, one_for_any_large, levels 0
 def samples_needed(error):
+    if error >= 1:
+        return 1  # any point is as good as that

# %% wrong_one_from_two_on: wrong, at_least_two, levels 0
def samples_needed(error):
    # a standard error of 2 or more: any single point will do
    return 1 if error > 2 else max(2, math.ceil(math.pi * (4 - math.pi) / error**2))

# %% wrong_relative_error: wrong, relative_error, levels 0
def samples_needed(error):
    p = math.pi / 4
    return math.ceil((1 - p) / p / error**2)

# %% wrong_returns_nothing: wrong, returns_nothing, levels 0
def samples_needed(error):
    print(math.ceil(math.pi * (4 - math.pi) / error**2))

# %% wrong_rounded_down: wrong, rounded_down, levels 0
def samples_needed(error):
    return int(math.pi * (4 - math.pi) / error**2)

# %% wrong_rounded_to_the_nearest: wrong, rounded_down, levels 0
def samples_needed(error):
    return round(math.pi * (4 - math.pi) / error**2)

# %% wrong_rounds_the_root_up: wrong, too_many, levels 0
def samples_needed(error):
    return math.ceil(math.sqrt(math.pi * (4 - math.pi)) / error) ** 2

# %% wrong_sigma_is_1: wrong, sigma_is_1, levels 0
def samples_needed(error):
    return math.ceil(1 / error**2)

# %% wrong_sigma_not_squared: wrong, sigma_not_squared, levels 0
def samples_needed(error):
    return math.ceil(1.642 / error**2)

# %% wrong_variance_squared: wrong, variance_squared, levels 0
def samples_needed(error):
    sigma = math.pi * (4 - math.pi)
    return math.ceil((sigma / error) ** 2)
