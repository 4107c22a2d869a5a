# verdict: passed
import torch
import torch.distributed as dist


def combine(t, lo, hi):
    """all ranks lo..hi-1 end with their sum; divide and conquer by swapping"""
    if hi - lo == 1:
        return t
    mid = (lo + hi) // 2
    r = dist.get_rank()
    t = combine(t, lo, mid) if r < mid else combine(t, mid, hi)
    left, right = mid - lo, hi - mid
    b = torch.empty_like(t)
    if r < mid:
        w = dist.isend(t, mid + (r - lo))
        dist.recv(b, mid + (r - lo))
        w.wait()
        if r == lo and right > left:
            dist.send(t, hi - 1)
        return t + b
    if r - mid < left:
        w = dist.isend(t, lo + r - mid)
        dist.recv(b, lo + r - mid)
        w.wait()
    else:
        dist.recv(b, lo)
    return t + b


def tree_all_reduce(x):
    return combine(x.clone(), 0, dist.get_world_size())
