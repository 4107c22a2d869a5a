# verdict: wrong, diagnosis: sign_lost
import torch
import torch.distributed as dist


def noise_scale(gradient, b):
    p = dist.get_world_size()
    if p == 1:
        raise ValueError
    both = torch.cat([gradient, gradient.dot(gradient).reshape(1)])
    dist.all_reduce(both)
    both /= p
    mean, small = both[:-1], both[-1].item()
    large = mean.dot(mean).item()
    B = p * b
    return mean, abs((small - large) / (1 / b - 1 / B) / ((B * large - b * small) / (B - b)))
