# verdict: wrong, diagnosis: drops_the_error
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    full = gradient
    left = full @ q
    dist.all_reduce(left)
    left = torch.linalg.qr(left)[0]
    right = full.T @ left
    dist.all_reduce(right)
    q.copy_(right / p)
    mean = left @ q.T
    return mean
