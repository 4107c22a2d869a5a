# verdict: wrong, diagnosis: last_steps_only
import math


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = t[-w:]
    r = sum(b) / t.mean()
    return r, r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean()
