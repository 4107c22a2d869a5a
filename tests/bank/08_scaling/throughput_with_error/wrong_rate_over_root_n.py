# verdict: wrong, diagnosis: rate_over_root_n
import math


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t = sum(local_batch_sizes), step_seconds[warmup:]
    return b / t.mean(), b / t.std(ddof=1) / math.sqrt(len(t))
