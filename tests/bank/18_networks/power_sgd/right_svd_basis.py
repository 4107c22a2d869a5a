# verdict: passed
import torch
import torch.distributed as dist


def power_sgd(gradient, q, error):
    m = (gradient + error) / dist.get_world_size()
    left = m @ q
    dist.all_reduce(left)
    u, _, _ = torch.linalg.svd(left, full_matrices=False)
    right = u.T @ m
    request = dist.all_reduce(right, async_op=True)
    request.wait()
    q.copy_(right.T)
    mean = u @ right
    error += gradient - mean
    return mean
