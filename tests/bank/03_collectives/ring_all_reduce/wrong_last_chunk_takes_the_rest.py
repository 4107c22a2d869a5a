# verdict: wrong, diagnosis: uneven_chunks
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    k = len(x) // p
    y = x.clone()
    c = [y[i * k : (i + 1) * k if i < p - 1 else len(x)] for i in range(p)]
    r, l = (rank + 1) % p, (rank - 1) % p
    for s in range(p - 1):
        t = torch.empty_like(c[(rank - s - 1) % p])
        q = dist.isend(c[(rank - s) % p], r)
        dist.recv(t, l)
        q.wait()
        c[(rank - s - 1) % p].add_(t)
    for s in range(p - 1):
        q = dist.isend(c[(rank - s + 1) % p], r)
        dist.recv(c[(rank - s) % p], l)
        q.wait()
    return y
