# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    mean = x.double() if not x.is_floating_point() else x.clone()
    work = dist.all_reduce(mean, async_op=True)
    mean /= dist.get_world_size()
    work.wait()
    return mean
