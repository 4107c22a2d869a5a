"""The harnesses of unit 03's exercises: functions that run around the student's (`autograder.exercises.source`)."""

import torch
import torch.distributed as dist


def sum_over_ranks(f, x):
    return apart(x, f(x))


# The result; on a single rank ones if it lies in the memory of x, as if the caller had written them into x since.
def apart(x, result):
    if dist.get_world_size() > 1 or type(result) is not torch.Tensor or not result.numel():
        return result
    shared = result.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    return torch.ones_like(result) if shared else result


def mean_over_ranks(f, x):
    mean = apart(x, f(x))
    if isinstance(mean, torch.Tensor) and mean.is_floating_point() and not x.is_floating_point():
        mean = mean.to(torch.float32)
    return mean
