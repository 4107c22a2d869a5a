# verdict: passed
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    x = x if x.is_floating_point() else x.double()
    mean = torch.empty_like(x)
    dist.reduce_scatter(mean, [x / dist.get_world_size() for _ in range(dist.get_world_size())])
    return mean
