# Right and wrong answers to `stragglers`. In files of their own: autograder bank --write DIR
import numpy as np
from statistics import median

# %% right_numpy: passed
def stragglers(times, k):
    middle = np.median(times, axis=1)
    centre = np.median(middle)
    spread = 1.4826 * np.median(np.abs(middle - centre))
    return np.flatnonzero(middle - centre > max(k * spread, 0.02 * centre)).tolist()

# %% right_statistics: passed
# differs: The standard library's median, row by row, and two conditions that must both hold.
def stragglers(times, k):
    own = [median(row) for row in times.tolist()]
    centre = median(own)
    spread = 1.4826 * median(abs(one - centre) for one in own)
    return [r for r, one in enumerate(own) if one > centre + k * spread and one > 1.02 * centre]

# %% wrong_2_percent_are_enough (right_statistics): wrong, limit_counts, levels 0 1 1
-    return [r for r, one in enumerate(own) if one > centre + k * spread and one > 1.02 * centre]
+    return [r for r, one in enumerate(own) if one > centre + k * spread and one >= 1.02 * centre]

# %% wrong_a_microsecond_at_least (right_statistics): wrong, nobody_without_spread, levels 0 1 1
-    spread = 1.4826 * median(abs(one - centre) for one in own)
+    spread = max(1e-6, 1.4826 * median(abs(one - centre) for one in own))

# %% wrong_all_steps (right_numpy): wrong, spread_of_the_steps, levels 0 0 1
-    spread = 1.4826 * np.median(np.abs(middle - centre))
+    spread = 1.4826 * np.median(np.abs(times - np.median(times)))

# %% wrong_an_array (right_numpy): wrong, other_type, levels 0 0 0
-    return np.flatnonzero(middle - centre > max(k * spread, 0.02 * centre)).tolist()
+    return np.flatnonzero(middle - centre > max(k * spread, 0.02 * centre))

# %% wrong_any (right_numpy): wrong, any_excess, levels 0 0 0
-    return np.flatnonzero(middle - centre > max(k * spread, 0.02 * centre)).tolist()
+    return np.flatnonzero(middle - centre > k * spread).tolist()

# %% wrong_centre_of_all_steps (right_numpy): wrong, centre_of_all_steps, levels 1 0 1
-    centre = np.median(middle)
+    centre = np.median(times)

# %% wrong_deviation (right_numpy): wrong, mean_and_deviation, levels 0 0 1
-    centre = np.median(middle)
-    spread = 1.4826 * np.median(np.abs(middle - centre))
+    centre = middle.mean()
+    spread = middle.std()

# %% wrong_factor (right_numpy): wrong, spread_without_factor, levels 1 0 0
-    spread = 1.4826 * np.median(np.abs(middle - centre))
+    spread = np.median(np.abs(middle - centre))

# %% wrong_fast (right_numpy): wrong, names_the_fast, levels 1 0 0
-    return np.flatnonzero(middle - centre > max(k * spread, 0.02 * centre)).tolist()
+    return np.flatnonzero(np.abs(middle - centre) > max(k * spread, 0.02 * centre)).tolist()

# %% wrong_k_spreads_are_enough (right_statistics): wrong, limit_counts, levels 1 1 0
-    return [r for r, one in enumerate(own) if one > centre + k * spread and one > 1.02 * centre]
+    return [r for r, one in enumerate(own) if one >= centre + k * spread and one > 1.02 * centre]

# %% wrong_lower_distance: wrong, wrong_length, levels 1 0 1
from statistics import median, median_low


def stragglers(times, k):
    own = [median(row) for row in times.tolist()]
    centre = median(own)
    spread = 1.4826 * median_low(abs(one - centre) for one in own)
    return [r for r, one in enumerate(own) if one - centre > max(k * spread, 0.02 * centre)]

# %% wrong_lower_median: wrong, lower_median, levels 1 0 1
import torch


def stragglers(times, k):
    medians = torch.as_tensor(times).median(dim=1).values
    centre = medians.median()
    spread = 1.4826 * (medians - centre).abs().median()
    limit = centre + max(k * spread, 0.02 * centre)
    return [r for r, one in enumerate(medians.tolist()) if one > limit]

# %% wrong_lower_of_the_steps: wrong, lower_median, levels 1 0 1
def stragglers(times, k):
    own = np.sort(times, axis=1)[:, (times.shape[1] - 1) // 2]
    middle = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - middle))
    return [int(r) for r in range(len(own)) if own[r] > middle + k * spread and own[r] > 1.02 * middle]

# %% wrong_mean_of_steps (right_numpy): wrong, mean_of_the_steps, levels 1 0 1
-    middle = np.median(times, axis=1)
+    middle = times.mean(axis=1)

# %% wrong_no_spread_nobody: wrong, nobody_without_spread, levels 0 1 1
def stragglers(times, k):
    own = np.median(times, axis=1)
    middle = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - middle))
    if spread == 0:
        return []
    return [int(r) for r in range(len(own)) if own[r] > middle + k * spread and own[r] > 1.02 * middle]

# %% wrong_slowest_alone: wrong, slowest_only, levels 1 0 1
def stragglers(times, k):
    own = np.median(times, axis=1)
    centre = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - centre))
    slow = [r for r in range(len(own)) if own[r] - centre > k * spread and own[r] > 1.02 * centre]
    return [int(own.argmax())] if slow else []

# %% wrong_slowest_first: wrong, slowest_first, levels 1 0 1
def stragglers(times, k):
    own = np.median(times, axis=1)
    centre = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - centre))
    slow = [r for r in range(len(own)) if own[r] - centre > k * spread and own[r] > 1.02 * centre]
    return sorted(slow, key=lambda r: -own[r])

# %% wrong_two_percent_of_a_second: wrong, two_hundredths_of_a_second, levels 0 0 1
def stragglers(times, k):
    medians = np.median(times, axis=1)
    centre = np.median(medians)
    spread = 1.4826 * np.median(np.abs(medians - centre))
    limit = centre + max(k * spread, 0.02)
    return [r for r, one in enumerate(medians.tolist()) if one > limit]

# %% wrong_upper_median: wrong, upper_median, levels 1 0 1
def stragglers(times, k):
    def middle(values):
        return sorted(values)[len(values) // 2]

    own = [middle(row) for row in times.tolist()]
    centre = middle(own)
    spread = 1.4826 * middle([abs(one - centre) for one in own])
    return [r for r, one in enumerate(own) if one - centre > max(k * spread, 0.02 * centre)]
