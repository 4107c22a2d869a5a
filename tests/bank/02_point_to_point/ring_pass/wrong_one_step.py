# verdict: wrong, diagnosis: only_neighbour
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % p, (rank + 1) % p
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    request = dist.isend(x, right)
    dist.recv(table[left], left)
    request.wait()
    return table
