# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    p = dist.get_world_size()
    gradient += error
    left = gradient @ q
    dist.all_reduce(left)
    left = torch.linalg.qr(left)[0]
    right = gradient.T @ left
    dist.all_reduce(right)
    q.copy_(right / p)
    error.copy_(gradient - left @ q.T)
    return left @ q.T
