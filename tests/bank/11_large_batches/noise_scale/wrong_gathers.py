# verdict: wrong, diagnosis: moves_too_much
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    every = [torch.empty_like(gradient) for _ in range(p)]
    dist.all_gather(every, gradient.contiguous())
    every = torch.stack(every)
    mean, small = every.mean(0), every.square().sum(1).mean()
    big = mean.square().sum()
    signal = (p * big - small) / (p - 1)
    noise = (small - big) * b / (1 - 1 / p)
    return mean, float(noise / signal)
