# verdict: passed
import math
import statistics


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    counted = [float(s) for s in list(step_seconds)[warmup:]]
    images = len(counted) * sum(local_batch_sizes)
    images_per_second = images / math.fsum(counted)
    relative = statistics.stdev(counted) / statistics.fmean(counted) / len(counted) ** 0.5
    return [images_per_second, images_per_second * relative]
