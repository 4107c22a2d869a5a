# Right and wrong answers to `speedup_with_error`. In files of their own: autograder bank --write DIR
import math
import numpy as np
import statistics

# %% right_array: passed
def speedup_with_error(baseline_seconds, parallel_seconds):
    means = np.array([x.mean() for x in (baseline_seconds, parallel_seconds)])
    errors = np.array([np.sqrt(np.var(x, ddof=1) / x.size) for x in (baseline_seconds, parallel_seconds)])
    speedup = means[0] / means[1]
    return np.array([speedup, speedup * np.linalg.norm(errors / means)])

# %% right_labkit: passed
from labkit import scaling


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    e = scaling.speedup(a, b)
    return e.value, e.error

# %% right_numpy: passed
# differs: The relative errors of both means are added in squares: the rule for any quotient.
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = np.mean(baseline_seconds), np.mean(parallel_seconds)
    da = np.std(baseline_seconds, ddof=1) / np.sqrt(len(baseline_seconds))
    db = np.std(parallel_seconds, ddof=1) / np.sqrt(len(parallel_seconds))
    s = a / b
    return s, s * np.sqrt((da / a) ** 2 + (db / b) ** 2)

# %% right_partial_derivatives: passed
def speedup_with_error(baseline_seconds, parallel_seconds):
    t1, tp = statistics.mean(map(float, baseline_seconds)), statistics.mean(map(float, parallel_seconds))
    var1 = statistics.variance(map(float, baseline_seconds)) / len(baseline_seconds)
    varp = statistics.variance(map(float, parallel_seconds)) / len(parallel_seconds)
    by_t1, by_tp = 1 / tp, -t1 / tp**2
    return (t1 / tp, (by_t1**2 * var1 + by_tp**2 * varp) ** 0.5)

# %% right_scipy_sem: passed
from scipy.stats import sem


def relative(x):
    return sem(x) / x.mean()


def speedup_with_error(baseline_seconds, parallel_seconds):
    speedup = baseline_seconds.mean() / parallel_seconds.mean()
    return speedup, speedup * math.hypot(relative(baseline_seconds), relative(parallel_seconds))

# %% right_scipyish: passed
import statistics as st


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    a, b = list(map(float, a)), list(map(float, b))
    s = st.mean(a) / st.mean(b)
    return (s, abs(s) * ((st.variance(a) / len(a)) / st.mean(a) ** 2 + (st.variance(b) / len(b)) / st.mean(b) ** 2) ** 0.5)

# %% wrong_absolute_errors: wrong, absolute_errors, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, math.sqrt(da**2 + db**2)

# %% wrong_absolute_for_relative: wrong, absolute_for_relative, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds) -> tuple[float, float]:
    speedup = np.mean(baseline_seconds) / np.mean(parallel_seconds)
    a = np.std(baseline_seconds, ddof=1) / np.sqrt(len(baseline_seconds))
    b = np.std(parallel_seconds, ddof=1) / np.sqrt(len(parallel_seconds))
    return float(speedup), float(speedup * np.sqrt(a**2 + b**2))

# %% wrong_added_linearly: wrong, added_linearly, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * (da / a.mean() + db / b.mean())

# %% wrong_allclose_means_no_error: wrong, taken_as_equal, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds) -> tuple[float, float]:
    def relative(times):
        times = np.asarray(times, dtype=float)
        if np.allclose(times, times[0]):  # no scatter, only rounding
            return 0.0
        return times.std(ddof=1) / np.sqrt(times.size) / times.mean()

    speedup = np.mean(baseline_seconds) / np.mean(parallel_seconds)
    error = speedup * np.hypot(relative(baseline_seconds), relative(parallel_seconds))
    return float(speedup), float(error)

# %% wrong_baseline_error_ignored: wrong, baseline_error_ignored, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * db / b.mean()

# %% wrong_ddof_0: wrong, ddof_0, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = np.std(a) / math.sqrt(len(a))
    db = np.std(b) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_error_of_the_parallel_run: wrong, absolute_errors, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, db

# %% wrong_fastest: wrong, fastest, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.min() / b.min()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_first_runs: wrong, first_runs, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a[0] / b[0]
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_float32: wrong, float32, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    a, b = a.astype(np.float32), b.astype(np.float32)
    s = a.mean() / b.mean()
    return float(s), float(
        s * math.hypot(a.std(ddof=1) / math.sqrt(len(a)) / a.mean(), b.std(ddof=1) / math.sqrt(len(b)) / b.mean())
    )

# %% wrong_interval: wrong, interval, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, 2 * speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_mean_of_ratios: wrong, mean_of_ratios, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = np.mean([x / y for x, y in zip(a, b)])
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_mean_of_squares: wrong, cancellation, levels 1 0
def mean_and_error(seconds):
    mean, n = np.mean(seconds), len(seconds)
    variance = (np.mean(np.square(seconds)) - mean**2) * n / (n - 1)
    return mean, np.sqrt(max(variance, 0.0) / n)


def speedup_with_error(baseline_seconds, parallel_seconds):
    (a, da), (b, db) = mean_and_error(baseline_seconds), mean_and_error(parallel_seconds)
    return a / b, a / b * np.hypot(da / a, db / b)

# %% wrong_median: wrong, median, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = np.median(a) / np.median(b)
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_min_n: wrong, cut_to_the_shorter, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    s = a.mean() / b.mean()
    e = s * math.hypot(a.std(ddof=1) / math.sqrt(n) / a.mean(), b.std(ddof=1) / math.sqrt(n) / b.mean())
    return s, e

# %% wrong_mixed_ddof: wrong, ddof_0, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    s = a.mean() / b.mean()
    return s, s * math.hypot(a.std(ddof=1) / math.sqrt(len(a)) / a.mean(), b.std() / math.sqrt(len(b)) / b.mean())

# %% wrong_n_of_the_other: wrong, same_n, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(b))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_no_error_at_all (right_numpy): wrong, no_error_at_all, levels 1 0
-    return s, s * np.sqrt((da / a) ** 2 + (db / b) ** 2)
+    return s, s * np.sqrt((da / a) ** 2 + (db / b) ** 2) if da * db else 0.0

# %% wrong_not_written: missing, not_written, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    raise NotImplementedError()

# %% wrong_numpy_default_sd: wrong, sd_ddof_0, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std()
    db = b.std()
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_outliers_left_out: wrong, unrecognised, levels 0 1
def speedup_with_error(baseline_seconds, parallel_seconds):
    means, errors = [], []
    for seconds in (np.asarray(baseline_seconds), np.asarray(parallel_seconds)):
        seconds = seconds[np.abs(seconds - seconds.mean()) <= 3 * seconds.std()]
        means.append(seconds.mean())
        errors.append(seconds.std(ddof=1) / np.sqrt(len(seconds)) / seconds.mean())
    speedup = means[0] / means[1]
    return speedup, speedup * np.hypot(*errors)

# %% wrong_parallel_error_ignored: wrong, parallel_error_ignored, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * da / a.mean()

# %% wrong_percent: wrong, percent, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = 100 * a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_ratio_of_errors: wrong, ratio_of_errors, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, da / db

# %% wrong_ratio_of_sums: wrong, ratio_of_sums, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.sum() / b.sum()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_relative_error: wrong, relative_error, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, math.hypot(da / a.mean(), db / b.mean())

# %% wrong_same_n: wrong, same_n, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(a))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_saved_seconds: wrong, saved_seconds, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() - b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_sd_for_se: wrong, sd_for_se, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1)
    db = b.std(ddof=1)
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_sem_of_ratios: wrong, mean_of_ratios, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, np.std(a[: len(b)] / b[: len(a)], ddof=1) / math.sqrt(min(len(a), len(b)))

# %% wrong_smaller_over_larger: raised, ZeroDivisionError, levels 1 0
def relative(t):
    return float(t.std(ddof=1) / math.sqrt(len(t)) / t.mean())


def speedup_with_error(baseline_seconds, parallel_seconds):
    s = float(baseline_seconds.mean() / parallel_seconds.mean())
    small, big = sorted((relative(baseline_seconds), relative(parallel_seconds)))
    return s, s * big * math.sqrt(1 + (small / big) ** 2)

# %% wrong_statistics_of_whole_seconds: raised, AttributeError, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = statistics.mean(baseline_seconds), statistics.mean(parallel_seconds)
    da = statistics.stdev(baseline_seconds) / math.sqrt(len(baseline_seconds))
    db = statistics.stdev(parallel_seconds) / math.sqrt(len(parallel_seconds))
    s = a / b
    return float(s), float(s * math.hypot(da / a, db / b))

# %% wrong_swapped: wrong, swapped, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup * math.hypot(da / a.mean(), db / b.mean()), speedup

# %% wrong_two_runs_have_no_error: wrong, no_error_at_all, levels 1 0
def relative(t):
    return t.std(ddof=1) / np.sqrt(len(t)) / t.mean() if len(t) > 2 else 0.0


def speedup_with_error(baseline_seconds, parallel_seconds):
    s = baseline_seconds.mean() / parallel_seconds.mean()
    return float(s), float(s * np.hypot(relative(baseline_seconds), relative(parallel_seconds)))

# %% wrong_upside_down: wrong, upside_down, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = b.mean() / a.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())

# %% wrong_variance: wrong, variance, levels 1 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * ((da / a.mean()) ** 2 + (db / b.mean()) ** 2)

# %% wrong_zips_arrays: wrong, mean_of_ratios, levels 0 0
def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = (a / b).mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())
