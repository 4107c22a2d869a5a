# verdict: passed
# differs: Everybody sends x to everybody and takes the mean of what has come: one step, and p - 1 times the bytes.
import torch
import torch.distributed as dist


def mean_over_ranks(x):
    x = x if x.is_floating_point() else x.double()
    p = dist.get_world_size()
    theirs = [torch.empty_like(x) for _ in range(p)]
    dist.all_to_all(theirs, [x] * p)
    return torch.stack(theirs).mean(0)
