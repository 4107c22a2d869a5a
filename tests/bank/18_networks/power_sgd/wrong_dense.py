# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    full = gradient + error
    whole = full.clone()
    dist.all_reduce(whole)
    left = whole @ q
    left = torch.linalg.qr(left)[0]
    right = whole.T @ left
    q.copy_(right / p)
    mean = left @ q.T
    error.copy_(full - mean)
    return mean
