# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    mean = x.double() if not x.is_floating_point() else x.clone()
    dist.all_reduce(mean, async_op=True)
    return mean / dist.get_world_size()
