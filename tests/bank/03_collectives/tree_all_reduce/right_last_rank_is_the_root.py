# verdict: passed
# differs: The ranks are numbered from the other end, so that the last one is the root: any rank can be.
import torch
import torch.distributed as dist


def tree_all_reduce(x):
    """root is the last rank"""
    p = dist.get_world_size()
    v = p - 1 - dist.get_rank()
    real = lambda k: p - 1 - k
    t = x.clone()
    d = 1
    while d < p and v % (2 * d) == 0:
        if v + d < p:
            b = torch.empty_like(x)
            dist.recv(b, real(v + d))
            t = t + b
        d *= 2
    if v:
        dist.send(t, real(v - d))
        dist.recv(t, real(v - d))
    d //= 2
    while d:
        if v + d < p:
            dist.send(t, real(v + d))
        d //= 2
    return t
