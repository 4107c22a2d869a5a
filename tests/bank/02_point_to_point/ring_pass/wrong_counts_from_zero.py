# verdict: wrong, diagnosis: off_by_one
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    moving = x.clone()
    for step in range(p - 1):
        arriving = torch.empty_like(x)
        request = dist.isend(moving, (rank + 1) % p)
        dist.recv(arriving, (rank - 1) % p)
        request.wait()
        moving = arriving
        table[(rank - step) % p] = arriving
    return table
