# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    moving = x.clone()
    for step in range(1, p):
        request = dist.isend(moving, (rank + 1) % p)
        dist.recv(moving, (rank - 1) % p)
        request.wait()
        table[(rank - step) % p] = moving
    return table
