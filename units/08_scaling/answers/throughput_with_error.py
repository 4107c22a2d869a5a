# Right and wrong answers to `throughput_with_error`. In files of their own: autograder bank --write DIR
import math
import numpy as np
import statistics

# %% right_labkit: passed
from labkit import scaling


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    e = scaling.throughput(sum(b), t, w)
    return e.value, e.error

# %% right_loops: passed
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    images, seconds, steps = 0, 0.0, 0
    for step, s in enumerate(step_seconds):
        if step < warmup:
            continue
        for batch in local_batch_sizes:
            images += batch
        seconds += s
        steps += 1
    mean = seconds / steps
    squares = sum((s - mean) ** 2 for s in step_seconds[warmup:])
    sem = (squares / (steps - 1) / steps) ** 0.5
    return images / seconds, images / seconds**2 * sem * steps

# %% right_numpy: passed
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = sum(local_batch_sizes) / t.mean()
    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
    return rate, error

# %% right_statistics_module: passed
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    counted = [float(s) for s in list(step_seconds)[warmup:]]
    images = len(counted) * sum(local_batch_sizes)
    images_per_second = images / math.fsum(counted)
    relative = statistics.stdev(counted) / statistics.fmean(counted) / len(counted) ** 0.5
    return [images_per_second, images_per_second * relative]

# %% right_torch: passed
# differs: The rate comes from the sum of all times, and its relative error is that of the mean step.
import torch


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    seconds = torch.as_tensor(step_seconds, dtype=torch.float64)[warmup:]
    n = seconds.numel()
    error_of_mean = seconds.std() / n**0.5
    rate = n * sum(local_batch_sizes) / seconds.sum()
    return rate, rate * error_of_mean / seconds.mean()

# %% wrong_ddof_0 (right_numpy): wrong, ddof_0, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = rate * t.std() / np.sqrt(len(t)) / t.mean()

# %% wrong_deviations_of_whole_seconds: wrong, unrecognised, levels 1 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    mean = sum(t) / len(t)
    off = np.empty_like(t)
    for k in range(len(t)):
        off[k] = t[k] - mean
    s = (sum(off.astype(float) ** 2) / (len(t) - 1)) ** 0.5
    rate = sum(local_batch_sizes) / mean
    return rate, rate * s / len(t) ** 0.5 / mean

# %% wrong_divided_by_ranks (right_numpy): wrong, per_rank, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = sum(local_batch_sizes) / t.mean() / len(local_batch_sizes)

# %% wrong_drops_first_only (right_numpy): wrong, drops_first_only, levels 0 0
-    t = step_seconds[warmup:]
+    t = step_seconds[1:]

# %% wrong_drops_one_less (right_numpy): wrong, drops_one_less, levels 0 0
-    t = step_seconds[warmup:]
+    t = step_seconds[max(warmup - 1, 0) :]

# %% wrong_drops_one_more (right_numpy): wrong, drops_one_more, levels 0 0
-    t = step_seconds[warmup:]
+    t = step_seconds[warmup + 1 :]

# %% wrong_error_of_seconds (right_numpy): wrong, error_of_seconds, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = t.std(ddof=1) / np.sqrt(len(t))

# %% wrong_fastest (right_numpy): wrong, fastest, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = sum(local_batch_sizes) / t.min()

# %% wrong_float32: wrong, float32, levels 0 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = np.asarray(t[w:], dtype=np.float32)
    r = sum(b) / t.mean()
    return float(r), float(r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean())

# %% wrong_half_at_most: wrong, drops_one_less, levels 0 1
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    warmup = min(warmup, len(step_seconds) // 2)  # never throw away more than half of the run
    t = np.asarray(step_seconds, dtype=float)[warmup:]
    rate = sum(local_batch_sizes) / t.mean()
    return float(rate), float(rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean())

# %% wrong_images_over_error (right_numpy): wrong, error_upside_down, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = sum(local_batch_sizes) / (t.std(ddof=1) / np.sqrt(len(t)))

# %% wrong_interval (right_numpy): wrong, interval, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = 1.96 * rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()

# %% wrong_last_steps_dropped (right_numpy): wrong, last_steps_dropped, levels 0 0
-    t = step_seconds[warmup:]
+    t = step_seconds[: len(step_seconds) - warmup]

# %% wrong_mean_batch (right_numpy): wrong, per_rank, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = np.mean(local_batch_sizes) / t.mean()

# %% wrong_mean_of_rates (right_numpy): wrong, mean_of_rates, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = np.mean(sum(local_batch_sizes) / t)

# %% wrong_mean_of_squares: wrong, cancellation, levels 1 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = np.asarray(step_seconds)[warmup:]
    n, mean = len(t), t.mean()
    rate = sum(local_batch_sizes) / mean
    s = np.sqrt(max((t**2).mean() - mean**2, 0.0) * n / (n - 1))
    return rate, rate * s / np.sqrt(n) / mean

# %% wrong_median (right_numpy): wrong, median, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = sum(local_batch_sizes) / np.median(t)

# %% wrong_n_with_warmup (right_numpy): wrong, n_with_warmup, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = rate * t.std(ddof=1) / np.sqrt(len(step_seconds)) / t.mean()

# %% wrong_not_written: missing, not_written, levels 0 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    raise NotImplementedError()

# %% wrong_one_number (right_numpy): wrong, wrong_type, levels 0 0
-    return rate, error
+    return rate

# %% wrong_one_rank (right_numpy): wrong, one_rank, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = local_batch_sizes[0] / t.mean()

# %% wrong_one_rank_and_warmup (right_numpy): wrong, one_rank, levels 0 0
-    t = step_seconds[warmup:]
-    rate = sum(local_batch_sizes) / t.mean()
+    t = step_seconds[:]
+    rate = local_batch_sizes[0] / t.mean()

# %% wrong_one_step (right_numpy): wrong, one_step, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = sum(local_batch_sizes) / t.sum()

# %% wrong_outliers_left_out: wrong, outlier_dropped, levels 1 0
def throughput_with_error(
    local_batch_sizes, step_seconds, warmup
) -> tuple[float, float]:
    counted = np.asarray(step_seconds, dtype=float)[warmup:]
    # something else ran on the machine: not our program
    counted = counted[counted <= 10 * np.median(counted)]
    mean = counted.mean()
    rate = sum(local_batch_sizes) / mean
    error = rate * (counted.std(ddof=1) / np.sqrt(len(counted))) / mean
    return float(rate), float(error)

# %% wrong_rank_0_times_p (right_numpy): wrong, rank_0_times_p, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = local_batch_sizes[0] * len(local_batch_sizes) / t.mean()

# %% wrong_rate_over_root_n: wrong, rate_over_root_n, levels 1 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t = sum(local_batch_sizes), step_seconds[warmup:]
    return b / t.mean(), b / t.std(ddof=1) / math.sqrt(len(t))

# %% wrong_rates_of_one_rank (right_numpy): wrong, mean_of_rates, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = np.mean(local_batch_sizes[0] / t)

# %% wrong_relative_error (right_numpy): wrong, relative_error, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = t.std(ddof=1) / np.sqrt(len(t)) / t.mean()

# %% wrong_returns_nothing (right_numpy): wrong, returns_nothing, levels 0 0
-    return rate, error
+    return None

# %% wrong_rounds: wrong, rounded, levels 0 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = t[w:]
    r = sum(b) / t.mean()
    return round(r, 2), round(r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean(), 2)

# %% wrong_scatter_of_rates (right_numpy): wrong, scatter_of_rates, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = np.std(sum(local_batch_sizes) / t, ddof=1) / np.sqrt(len(t))

# %% wrong_sd_for_se (right_numpy): wrong, sd_for_se, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = rate * t.std(ddof=1) / t.mean()

# %% wrong_sd_numpy_default (right_numpy): wrong, sd_ddof_0, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = rate * t.std() / t.mean()

# %% wrong_sd_of_rates (right_numpy): wrong, sd_of_rates, levels 1 0
-    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
+    error = np.std(sum(local_batch_sizes) / t, ddof=1)

# %% wrong_sorts_first: wrong, slowest_dropped, levels 0 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = np.sort(t)[::-1][w:]
    r = sum(b) / t.mean()
    return r, r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean()

# %% wrong_statistics_of_whole_seconds: raised, AttributeError, levels 1 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    mean = statistics.mean(t)
    rate = sum(local_batch_sizes) / mean
    return float(rate), float(rate * statistics.stdev(t) / len(t) ** 0.5 / mean)

# %% wrong_sum_of_squares: wrong, cancellation, levels 1 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = np.asarray(step_seconds)[warmup:]
    n = len(t)
    rate = n * sum(local_batch_sizes) / t.sum()
    s = np.sqrt(max((t**2).sum() - t.sum() ** 2 / n, 0.0) / (n - 1))
    return rate, rate * s / np.sqrt(n) / t.mean()

# %% wrong_swapped (right_numpy): wrong, swapped, levels 0 0
-    return rate, error
+    return error, rate

# %% wrong_times_ranks (right_numpy): wrong, times_ranks, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = len(local_batch_sizes) * sum(local_batch_sizes) / t.mean()

# %% wrong_two_steps_have_no_error: wrong, unrecognised, levels 1 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = np.asarray(step_seconds, dtype=float)[warmup:]
    n = len(t)
    rate = sum(local_batch_sizes) * n / t.sum()
    if n <= 2:  # too few for a scatter
        return float(rate), 0.0
    return float(rate), float(rate * t.std(ddof=1) / np.sqrt(n) / t.mean())

# %% wrong_upside_down (right_numpy): wrong, upside_down, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = t.mean() / sum(local_batch_sizes)

# %% wrong_warm_minus: wrong, last_steps_only, levels 0 0
def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = t[-w:]
    r = sum(b) / t.mean()
    return r, r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean()

# %% wrong_warmup_images_counted (right_numpy): wrong, warmup_images_counted, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = sum(local_batch_sizes) * len(step_seconds) / t.sum()

# %% wrong_warmup_included (right_numpy): wrong, warmup_included, levels 0 0
-    t = step_seconds[warmup:]
+    t = step_seconds[:]

# %% wrong_warmup_seconds_counted (right_numpy): wrong, warmup_seconds_counted, levels 0 0
-    rate = sum(local_batch_sizes) / t.mean()
+    rate = sum(local_batch_sizes) * len(t) / step_seconds.sum()
