# verdict: wrong, diagnosis: rounded
import math


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = t[w:]
    r = sum(b) / t.mean()
    return round(r, 2), round(r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean(), 2)
