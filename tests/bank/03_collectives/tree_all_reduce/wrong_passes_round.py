# verdict: wrong, diagnosis: too_many_messages
import torch
import torch.distributed as dist


def tree_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    t, m = x.clone(), x
    for _ in range(p - 1):
        b = torch.empty_like(x)
        w = dist.isend(m, (r + 1) % p)
        dist.recv(b, (r - 1) % p)
        w.wait()
        t += b
        m = b
    return t
