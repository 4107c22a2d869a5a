# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    small = (gradient**2).sum()
    dist.all_reduce(gradient, op=dist.ReduceOp.AVG)
    dist.all_reduce(small, op=dist.ReduceOp.AVG)
    big = (gradient**2).sum()
    signal = (p * big - small) / (p - 1)
    noise = (small - big) / (1 / b - 1 / (p * b))
    return gradient, noise / signal
