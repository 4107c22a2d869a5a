# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    mean = torch.zeros(x.shape, dtype=torch.float32)
    mean += x
    dist.all_reduce(mean)
    mean /= dist.get_world_size()
    return mean.to(x.dtype) if x.is_floating_point() else mean
