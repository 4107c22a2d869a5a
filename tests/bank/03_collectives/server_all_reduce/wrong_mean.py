# verdict: wrong, diagnosis: averaged
import torch
import torch.distributed as dist


def server_all_reduce(x):
    r, p = dist.get_rank(), dist.get_world_size()
    t = x.clone()
    b = torch.empty_like(x)
    if r == 0:
        for k in range(1, p):
            dist.recv(b, k)
            t += b
        t = t / p
        for k in range(1, p):
            dist.send(t, k)
    else:
        dist.send(x, 0)
        dist.recv(t, 0)
    return t
