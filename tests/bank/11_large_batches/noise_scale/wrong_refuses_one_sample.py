# verdict: wrong, diagnosis: ValueError
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1 or b <= 1:
        raise ValueError("one size of batch")
    both = torch.cat([gradient, (gradient @ gradient)[None]])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1]
    big = mean @ mean
    noise = (small - big) / (1 / b - 1 / (p * b))
    signal = (p * b * big - b * small) / (p * b - b)
    return mean, (noise / signal).item()
