# verdict: wrong, diagnosis: one_buffer
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [None] * p
    rows[rank] = x
    passing, arrived = x.clone(), torch.empty_like(x)
    for step in range(1, p):
        request = dist.isend(passing, (rank + 1) % p)
        dist.recv(arrived, (rank - 1) % p)
        request.wait()
        passing.copy_(arrived)
        rows[(rank - step) % p] = arrived
    return torch.stack(rows)
