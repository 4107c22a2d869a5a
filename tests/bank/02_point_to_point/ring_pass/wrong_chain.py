# verdict: wrong, diagnosis: open_ring
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    for step in range(1, p):
        request = dist.isend(table[(rank - step + 1) % p], rank + 1) if rank < p - 1 else None
        if rank > 0:
            dist.recv(table[(rank - step) % p], rank - 1)
        if request is not None:
            request.wait()
    return table
