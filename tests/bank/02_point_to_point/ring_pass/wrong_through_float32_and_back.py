# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x))
    table[rank] = x
    for step in range(1, p):
        request = dist.isend(table[(rank - step + 1) % p].clone(), (rank + 1) % p)
        dist.recv(table[(rank - step) % p], (rank - 1) % p)
        request.wait()
    return table.to(x.dtype)
