# verdict: passed
import statistics


def speedup_with_error(baseline_seconds, parallel_seconds):
    t1, tp = statistics.mean(map(float, baseline_seconds)), statistics.mean(map(float, parallel_seconds))
    var1 = statistics.variance(map(float, baseline_seconds)) / len(baseline_seconds)
    varp = statistics.variance(map(float, parallel_seconds)) / len(parallel_seconds)
    by_t1, by_tp = 1 / tp, -t1 / tp**2
    return (t1 / tp, (by_t1**2 * var1 + by_tp**2 * varp) ** 0.5)
