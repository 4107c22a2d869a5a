# verdict: wrong, diagnosis: not_refused
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        return gradient, float("inf")
    both = torch.cat([gradient, (gradient**2).sum().reshape(1)])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1].item()
    big = (mean**2).sum().item()
    B = p * b
    signal = (B * big - b * small) / (B - b)
    noise = (small - big) / (1 / b - 1 / B)
    return mean, noise / signal
