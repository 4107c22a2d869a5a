# verdict: wrong, diagnosis: orthonormal_q
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
    mean = left @ (right / p).T
    q.copy_(torch.linalg.qr(right / p)[0])
    error.copy_(full - mean)
    return mean
