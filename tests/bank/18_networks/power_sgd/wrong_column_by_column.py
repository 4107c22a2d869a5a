# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    full = gradient + error
    left = full @ q
    left = left.T.contiguous()
    for column in left:
        dist.all_reduce(column)
    left = left.T
    left = torch.linalg.qr(left)[0]
    right = full.T @ left
    dist.all_reduce(right)
    q.copy_(right / p)
    mean = left @ q.T
    error.copy_(full - mean)
    return mean
