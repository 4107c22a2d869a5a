# Right and wrong answers to `fit_alpha_beta`. In files of their own: autograder bank --write DIR
import numpy as np

# %% right_by_hand: passed
def mean(values):
    values = list(values)
    return sum(values) / len(values)


def fit_alpha_beta(sizes_bytes, round_trip_s):
    t = [0.5 * float(s) for s in round_trip_s]
    n = [float(s) for s in sizes_bytes]
    centre_n, centre_t = mean(n), mean(t)
    beta = sum((a - centre_n) * (b - centre_t) for a, b in zip(n, t)) / sum((a - centre_n) ** 2 for a in n)
    return [centre_t - beta * centre_n, beta]

# %% right_lstsq: passed
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n = np.array(sizes_bytes, dtype=float)
    a = np.column_stack([np.ones_like(n), n / n.max()])
    (alpha, scaled), *_ = np.linalg.lstsq(a, np.array(round_trip_s), rcond=None)
    return float(alpha) / 2, float(scaled) / n.max() / 2

# %% right_polyfit: passed
def fit_alpha_beta(sizes_bytes, round_trip_s):
    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
    return alpha, beta

# %% right_theil_sen: passed
# differs: The median of the slopes between all pairs of points: a few disturbed measurements do not move it.
from scipy.stats import theilslopes


def fit_alpha_beta(sizes_bytes, round_trip_s):
    result = theilslopes(np.asarray(round_trip_s) / 2, sizes_bytes)
    return np.array([result.intercept, result.slope])

# %% right_weighted: passed
def fit_alpha_beta(sizes_bytes, round_trip_s):
    line = np.polynomial.Polynomial.fit(sizes_bytes, round_trip_s, 1, w=1 / np.asarray(round_trip_s))
    return tuple(line.convert().coef / 2)

# %% wrong_alpha_in_microseconds: wrong, alpha_in_microseconds, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    b, a = np.polyfit(sizes_bytes, np.array(round_trip_s) / 2, 1)
    return 1e6 * a, b

# %% wrong_arrays_only (right_polyfit): raised, arrays_only, levels 0 1
-    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
+    beta, alpha = np.polyfit(sizes_bytes, round_trip_s / 2, 1)

# %% wrong_bandwidth: wrong, bandwidth, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    slope, start = np.polyfit(sizes_bytes, round_trip_s / 2, 1)
    return start, 1 / slope

# %% wrong_bits (right_polyfit): wrong, bits, levels 0 0
-    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
+    bits = 8 * np.asarray(sizes_bytes)
+    beta, alpha = np.polyfit(bits, np.asarray(round_trip_s) / 2, 1)

# %% wrong_doubled: wrong, doubled, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    b, a = np.polyfit(np.array(sizes_bytes), np.array(round_trip_s) * 2, 1)
    return a, b

# %% wrong_fastest_of_each_size: wrong, first_of_each_size, levels 1 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    best = {}
    for n, t in zip(sizes_bytes, round_trip_s):
        best[n] = min(t, best.get(n, t))
    n, t = np.array(list(best), float), np.array(list(best.values())) / 2
    beta, alpha = np.polyfit(n, t, 1, w=1 / t)
    return float(alpha), float(beta)

# %% wrong_first_and_last: wrong, two_points, levels 1 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    small, large = np.argmin(sizes_bytes), np.argmax(sizes_bytes)
    t = np.asarray(round_trip_s) / 2
    beta = (t[large] - t[small]) / (sizes_bytes[large] - sizes_bytes[small])
    return t[small] - beta * sizes_bytes[small], beta

# %% wrong_first_of_each_size: wrong, first_of_each_size, levels 1 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n, first = np.unique(sizes_bytes, return_index=True)
    t = np.asarray(round_trip_s)[first] / 2
    beta, alpha = np.polyfit(n, t, 1, w=1 / t)
    return float(alpha), float(beta)

# %% wrong_halved_twice (right_polyfit): wrong, halved_twice, levels 0 0
-    return alpha, beta
+    return alpha / 2, beta / 2

# %% wrong_int64_squares: wrong, overflows, levels 0 1
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n = np.asarray(sizes_bytes, dtype=np.int64)
    t = np.asarray(round_trip_s) / 2
    k = len(n)
    beta = (k * (n * t).sum() - n.sum() * t.sum()) / (k * (n * n).sum() - n.sum() ** 2)
    return float((t.sum() - beta * n.sum()) / k), float(beta)

# %% wrong_last_of_each_size (right_polyfit): wrong, last_of_each_size, levels 1 0
-    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
+    backwards = np.asarray(sizes_bytes)[::-1]
+    sizes, last = np.unique(backwards, return_index=True)
+    seconds = np.asarray(round_trip_s)[::-1][last] / 2
+    beta, alpha = np.polyfit(sizes, seconds, 1)

# %% wrong_log_log: raised, LinAlgError, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    slope, start = np.polyfit(np.log(sizes_bytes), np.log(np.asarray(round_trip_s) / 2), 1)
    return np.exp(start), slope

# %% wrong_methods_of_arrays: raised, arrays_only, levels 0 1
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n, t = sizes_bytes, round_trip_s
    beta = ((n - n.mean()) * (t - t.mean())).sum() / ((n - n.mean()) ** 2).sum() / 2
    return t.mean() / 2 - beta * n.mean(), beta

# %% wrong_microseconds (right_polyfit): wrong, microseconds, levels 0 0
-    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
+    microseconds = 1e6 * np.asarray(round_trip_s) / 2
+    beta, alpha = np.polyfit(sizes_bytes, microseconds, 1)

# %% wrong_neighbours: wrong, between_neighbours, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s) -> tuple[float, float]:
    n, t = np.array(sizes_bytes, float), np.array(round_trip_s, float) / 2
    order = np.argsort(n)
    n, t = n[order], t[order]
    slopes = np.diff(t) / np.diff(n)
    beta = np.average(slopes, weights=np.diff(n))
    return float(np.mean(t - beta * n)), float(beta)

# %% wrong_only_latency_halved: wrong, only_alpha_halved, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    beta, alpha = np.polyfit(sizes_bytes, round_trip_s, 1)
    return alpha / 2, beta

# %% wrong_only_slope_halved: wrong, only_beta_halved, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    beta, alpha = np.polyfit(sizes_bytes, round_trip_s, 1)
    return alpha, beta / 2

# %% wrong_repeats_dropped: wrong, last_of_each_size, levels 1 0
# breaks "using all of them": of several measurements of one size only the last is kept
def fit_alpha_beta(sizes_bytes, round_trip_s) -> tuple[float, float]:
    times = {float(n): float(t) / 2 for n, t in zip(sizes_bytes, round_trip_s)}
    n, t = np.array(list(times.keys())), np.array(list(times.values()))
    beta, alpha = np.polyfit(n, t, 1, w=1 / t)
    return float(alpha), float(beta)

# %% wrong_round_trip (right_polyfit): wrong, round_trip, levels 0 0
-    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
+    beta, alpha = np.polyfit(sizes_bytes, round_trip_s, 1)

# %% wrong_slope_first (right_polyfit): wrong, swapped, levels 0 0
-    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
+    alpha, beta = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)

# %% wrong_slope_first_round_trip: wrong, swapped_round_trip, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    return tuple(np.polyfit(sizes_bytes, np.array(round_trip_s), 1))

# %% wrong_smallest_message: wrong, smallest_message, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    one_way = round_trip_s / 2
    beta = np.polyfit(sizes_bytes, one_way, 1)[0]
    return one_way.min(), beta

# %% wrong_smallest_size: wrong, smallest_message, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n = np.asarray(sizes_bytes, dtype=float)
    t = np.asarray(round_trip_s, dtype=float) / 2
    alpha = t[n.argmin()]  # so small that only the latency counts
    beta, _ = np.polyfit(n, t, 1)
    return float(alpha), float(beta)

# %% wrong_sorted_apart: wrong, sorted_apart, levels 1 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    slope, alpha = np.polyfit(np.array(sorted(sizes_bytes), float), np.array(sorted(round_trip_s)) / 2, 1)
    return float(alpha), float(slope)

# %% wrong_sorts_the_data (right_polyfit): wrong, modifies_input, levels 0 0
-    beta, alpha = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
+    round_trip_s /= 2
+    beta, alpha = np.polyfit(sizes_bytes, round_trip_s, 1)

# %% wrong_squares_of_int32: wrong, overflows, levels 0 1
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n = np.asarray(sizes_bytes)
    t = np.asarray(round_trip_s) / 2
    k = len(n)
    # the normal equations
    beta = (k * (n * t).sum() - n.sum() * t.sum()) / (k * (n * n).sum() - n.sum() ** 2)
    alpha = (t.sum() - beta * n.sum()) / k
    return float(alpha), float(beta)

# %% wrong_time_over_size: wrong, through_zero, levels 0 0
def fit_alpha_beta(sizes_bytes, round_trip_s):
    one_way = round_trip_s / 2
    alpha = np.polyfit(sizes_bytes, one_way, 1)[1]
    return alpha, np.mean(one_way / sizes_bytes)

# %% wrong_warm_up: wrong, first_left_out, levels 0 1
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n, t = np.asarray(sizes_bytes), np.asarray(round_trip_s) / 2
    if len(n) > 3:
        n, t = n[1:], t[1:]  # the first one sets up buffers: it does not count
    beta, alpha = np.polyfit(n, t, 1)
    return float(alpha), float(beta)

# %% wrong_warm_up_of_long_runs: wrong, first_left_out, levels 0 1
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n, t = np.asarray(sizes_bytes), np.asarray(round_trip_s) / 2
    if len(n) > 4:
        n, t = n[1:], t[1:]
    beta, alpha = np.polyfit(n, t, 1)
    return float(alpha), float(beta)

# %% wrong_weights_of_sizes: raised, LinAlgError, levels 0 1
def fit_alpha_beta(sizes_bytes, round_trip_s):
    n, t = np.asarray(sizes_bytes, dtype=float), np.asarray(round_trip_s) / 2
    beta, alpha = np.polyfit(n, t, 1, w=1 / n)
    return float(alpha), float(beta)
