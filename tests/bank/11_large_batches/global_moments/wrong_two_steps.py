# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def global_moments(x):
    s = torch.cat([x.sum(0), x.new_tensor([len(x)])])
    dist.all_reduce(s)
    mean = s[:-1] / s[-1]
    var = ((x - mean) ** 2).sum(0)
    dist.all_reduce(var)
    return mean, var / s[-1]
