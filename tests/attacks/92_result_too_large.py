# exercise: sum_over_ranks
# must not: fill the judge's memory with its result
# verdict: anything but passed
# memory: 1024 MB
import torch


def sum_over_ranks(x):
    return torch.zeros(1).expand(600 << 20)
