# verdict: wrong, diagnosis: variance_over_p
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError("one rank has one size of batch")
    both = torch.cat([gradient, gradient.square().sum()[None]]) / p
    dist.all_reduce(both)
    mean, small = both[:-1], both[-1]
    big = mean.square().sum()
    noise = b * (small - big)
    signal = (p * big - small) / (p - 1)
    return mean, float(noise / signal)
