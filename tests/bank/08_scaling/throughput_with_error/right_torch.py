# verdict: passed
# differs: The rate comes from the sum of all times, and its relative error is that of the mean step.
import torch


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    seconds = torch.as_tensor(step_seconds, dtype=torch.float64)[warmup:]
    n = seconds.numel()
    error_of_mean = seconds.std() / n**0.5
    rate = n * sum(local_batch_sizes) / seconds.sum()
    return rate, rate * error_of_mean / seconds.mean()
