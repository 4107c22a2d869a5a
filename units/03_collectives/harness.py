"""The harnesses of unit 03's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import torch


def mean_over_ranks(f, x):
    mean = f(x)
    if isinstance(mean, torch.Tensor) and mean.is_floating_point() and not x.is_floating_point():
        mean = mean.to(torch.float32)
    return mean
