# verdict: passed
import torch
import torch.distributed as dist


def shift_left(block, room):
    """Even ranks send first, odd ranks receive first."""
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank + p - 1) % p, (rank + 1) % p
    if rank % 2 == 0:
        dist.send(block, dst=left)
        dist.recv(room, src=right)
    else:
        dist.recv(room, src=right)
        dist.send(block, dst=left)


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    bounds = [i * len(x) // p for i in range(p + 1)]
    y = x.clone()
    chunk = lambda i: y[bounds[i % p] : bounds[i % p + 1]]
    for s in range(p - 1):
        room = torch.empty_like(chunk(rank + s + 1))
        shift_left(chunk(rank + s), room)
        chunk(rank + s + 1).add_(room)
    for s in range(p - 1):
        shift_left(chunk(rank - 1 + s), chunk(rank + s))
    return y
