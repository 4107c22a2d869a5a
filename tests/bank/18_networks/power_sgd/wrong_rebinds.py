# verdict: wrong, diagnosis: starts_again
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    full = gradient + error
    left = full @ q
    dist.all_reduce(left)
    left = torch.linalg.qr(left)[0]
    right = full.T @ left
    dist.all_reduce(right)
    q = right / p
    mean = left @ q.T
    error.copy_(full - mean)
    return mean
