# Right and wrong answers to `alpha_beta_from_ring`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_least_squares: passed
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    columns = np.stack([np.full(len(nbytes), 2.0 * (p - 1)), 2 * (p - 1) / p * nbytes], axis=1)
    weights = 1 / seconds
    (alpha, beta), *_ = np.linalg.lstsq(columns * weights[:, None], seconds * weights, rcond=None)
    return [alpha, beta]

# %% right_never_negative: passed
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    b, a = np.polyfit(n / p, t / (2 * (p - 1)), 1, w=1 / t)
    return max(a, 0), max(b, 0)

# %% right_normal_equations: passed
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    w = 1 / t**2
    mx, my = (w * n).sum() / w.sum(), (w * t).sum() / w.sum()
    b = (w * (n - mx) * (t - my)).sum() / (w * (n - mx) ** 2).sum()
    return (my - b * mx) / (2 * (p - 1)), b * p / (2 * (p - 1))

# %% right_scipy: passed
from scipy.stats import linregress


def alpha_beta_from_ring(world_size, nbytes, seconds):
    line = linregress(nbytes, seconds)
    return line.intercept / 2 / (world_size - 1), line.slope / 2 / (world_size - 1) * world_size

# %% right_sqrtweights: passed
# differs: Long times, which scatter more, count less, and the line is fitted over n / p, so that the slope is beta at once.
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    b, a = np.polyfit(n / p, t / (2 * (p - 1)), 1, w=1 / np.sqrt(t))
    return a, b

# %% right_unweighted: passed
def alpha_beta_from_ring(world_size, nbytes, seconds):
    steps = 2 * (world_size - 1)
    beta, alpha = np.polyfit(nbytes / world_size, seconds / steps, deg=1)
    return float(alpha), float(beta)

# %% right_weighted: passed
def alpha_beta_from_ring(world_size, nbytes, seconds):
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    messages = 2 * (world_size - 1)
    return constant / messages, slope * world_size / messages

# %% wrong_abs_alpha (right_weighted): wrong, below_zero, levels 0 1
-    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
+    slope, constant = np.abs(np.polyfit(nbytes, seconds, 1, w=1 / seconds))

# %% wrong_alpha_in_microseconds: wrong, alpha_in_microseconds, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return 1e6 * constant / (2 * (p - 1)), slope * p / (2 * (p - 1))

# %% wrong_alpha_of_all_messages: wrong, alpha_of_all_messages, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant, slope * p / (2 * (p - 1))

# %% wrong_asks_for_the_covariance: raised, ValueError, levels 0 1
def alpha_beta_from_ring(world_size, nbytes, seconds):
    steps = 2 * (world_size - 1)
    (slope, constant), _ = np.polyfit(nbytes / world_size, seconds / steps, 1, w=1 / seconds, cov=True)
    return float(constant), float(slope)

# %% wrong_bandwidth: wrong, bandwidth, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), 2 * (p - 1) / (slope * p)

# %% wrong_beta_forgets_chunks: wrong, beta_forgets_chunks, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), slope / (2 * (p - 1))

# %% wrong_beta_of_all_messages: wrong, beta_of_all_messages, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), slope

# %% wrong_bits: wrong, bits, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1)) / 8

# %% wrong_bytes_for_bits: wrong, bytes_for_bits, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes / 8, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))

# %% wrong_chunks_multiplied: wrong, chunks_multiplied, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    slope, constant = np.polyfit(nbytes * world_size, seconds / (2 * (world_size - 1)), 1, w=1 / seconds)
    return constant, slope

# %% wrong_drops_smallest (right_sqrtweights): wrong, not_all_measurements, levels 0 0
-    b, a = np.polyfit(n / p, t / (2 * (p - 1)), 1, w=1 / np.sqrt(t))
+    k = 2 * (p - 1)
+    x, y = n[1:] / p, t[1:] / k
+    b, a = np.polyfit(x, y, 1, w=1 / y)

# %% wrong_ends_only: wrong, smallest_vector, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    return seconds.min() / (2 * (p - 1)), seconds.max() / nbytes.max() * p / (2 * (p - 1))

# %% wrong_float32_elements: wrong, float32_elements, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes / 4, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))

# %% wrong_last_of_each_size: wrong, not_all_measurements, levels 1 0
def alpha_beta_from_ring(world_size, nbytes, seconds) -> tuple[float, float]:
    p = world_size
    time_of = dict(zip(np.asarray(nbytes).tolist(), np.asarray(seconds).tolist()))
    sizes = np.array(sorted(time_of), dtype=float)
    times = np.array([time_of[size] for size in sizes.tolist()])
    slope, constant = np.polyfit(sizes, times, 1, w=1 / times)
    return float(constant / (2 * (p - 1))), float(slope * p / (2 * (p - 1)))

# %% wrong_line_only: wrong, line_only, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant, slope

# %% wrong_logarithms: wrong, power_law, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    steps = 2 * (world_size - 1)
    slope, constant = np.polyfit(np.log(nbytes / world_size), np.log(seconds / steps), 1)
    return np.exp(constant), slope

# %% wrong_median_of_each_size: wrong, not_all_measurements, levels 1 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    sizes = np.unique(nbytes)
    times = np.array([np.median(seconds[nbytes == n]) for n in sizes])
    steps = 2 * (world_size - 1)
    slope, constant = np.polyfit(sizes, times, 1, w=1 / times)
    return constant / steps, slope * world_size / steps

# %% wrong_median_of_slopes: wrong, slopes_averaged, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    k = 2 * (p - 1)
    x, y = n / p, t / k
    sl = [(y[j] - y[i]) / (x[j] - x[i]) for i in range(len(x)) for j in range(i)]
    b = np.median(sl)
    return np.median(y - b * x), b

# %% wrong_microseconds: wrong, microseconds, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, 1e6 * seconds, 1)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))

# %% wrong_multiplied: wrong, multiplied, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant * 2 * (p - 1), slope * 2 * (p - 1) / p

# %% wrong_one_message_more: wrong, one_message_more, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds) -> tuple[float, float]:
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    messages = 2 * world_size - 1
    return float(constant / messages), float(slope * world_size / messages)

# %% wrong_one_way: wrong, one_way, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (p - 1), slope * p / (p - 1)

# %% wrong_p_for_p_minus_1: wrong, p_for_p_minus_1, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * p), slope / 2

# %% wrong_polyfit_order: wrong, swapped_line, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)[::-1]
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))

# %% wrong_quadratic (right_sqrtweights): wrong, more_than_a_line, levels 0 0
-    b, a = np.polyfit(n / p, t / (2 * (p - 1)), 1, w=1 / np.sqrt(t))
+    k = 2 * (p - 1)
+    x, y = n / p, t / k
+    _, b, a = np.polyfit(x, y, 2, w=1 / y)

# %% wrong_slope_mean: wrong, slopes_averaged, levels 1 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    k = 2 * (p - 1)
    x, y = n / p, t / k
    b = np.mean(np.diff(y) / np.diff(x))
    return np.mean(y - b * x), b

# %% wrong_smallest_vector: wrong, smallest_vector, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return seconds.min() / (2 * (p - 1)), slope * p / (2 * (p - 1))

# %% wrong_sorted_apart: wrong, sorted_apart, levels 1 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    n, t = np.sort(nbytes) / world_size, np.sort(seconds) / (2 * (world_size - 1))
    beta, alpha = np.polyfit(n, t, 1, w=1 / t)
    return max(0.0, alpha), beta

# %% wrong_squares_in_int64: wrong, unrecognised, levels 0 1
def alpha_beta_from_ring(world_size, nbytes, seconds):
    m, n, t = len(nbytes), nbytes, seconds
    slope = (m * np.sum(n * t) - np.sum(n) * np.sum(t)) / (m * np.sum(n * n) - np.sum(n) ** 2)
    constant = (np.sum(t) - slope * np.sum(n)) / m
    steps = 2 * (world_size - 1)
    return constant / steps, slope * world_size / steps

# %% wrong_swapped: wrong, swapped, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return slope * p / (2 * (p - 1)), constant / (2 * (p - 1))

# %% wrong_through_zero: wrong, through_zero, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), np.mean(seconds / nbytes) * p / (2 * (p - 1))

# %% wrong_tree: wrong, tree, levels 0 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * np.ceil(np.log2(p))), slope / (2 * np.ceil(np.log2(p)))

# %% wrong_two_points: wrong, two_points, levels 1 0
def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes[[0, -1]], seconds[[0, -1]], 1)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))

# %% wrong_weights_n (right_sqrtweights): wrong, unrecognised, levels 0 1
-    b, a = np.polyfit(n / p, t / (2 * (p - 1)), 1, w=1 / np.sqrt(t))
+    k = 2 * (p - 1)
+    x, y = n / p, t / k
+    b, a = np.polyfit(x, y, 1, w=x)

# %% wrong_weights_of_size (right_unweighted): raised, LinAlgError, levels 0 1
-    beta, alpha = np.polyfit(nbytes / world_size, seconds / steps, deg=1)
+    beta, alpha = np.polyfit(nbytes / world_size, seconds / steps, 1, w=1 / nbytes)

# %% wrong_whole_chunks (right_sqrtweights): wrong, whole_chunks, levels 0 1
-    b, a = np.polyfit(n / p, t / (2 * (p - 1)), 1, w=1 / np.sqrt(t))
+    b, a = np.polyfit(n // p, t / (2 * (p - 1)), 1, w=1 / t)
