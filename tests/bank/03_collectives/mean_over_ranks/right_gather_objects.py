# verdict: passed
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    x = x if x.is_floating_point() else x.double()
    p = dist.get_world_size()
    theirs = [None] * p
    dist.gather_object(x, theirs if dist.get_rank() == p - 1 else None, dst=p - 1)
    mean = [None]
    dist.scatter_object_list(mean, [torch.stack(theirs).mean(0)] * p if theirs[0] is not None else [None] * p, src=p - 1)
    return mean[0]
