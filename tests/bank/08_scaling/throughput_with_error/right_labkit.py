# verdict: passed

from labkit import scaling


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    e = scaling.throughput(sum(b), t, w)
    return e.value, e.error
