# verdict: passed
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    mean = x.double() if not x.is_floating_point() else x.clone()
    future = dist.all_reduce(mean, async_op=True).get_future()
    return future.then(lambda done: done.value()[0] / dist.get_world_size()).wait()
