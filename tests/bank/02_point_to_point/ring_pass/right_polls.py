# verdict: passed
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    for step in range(1, p):
        requests = [dist.irecv(table[(rank - step) % p], (rank - 1) % p), dist.isend(table[(rank - step + 1) % p], (rank + 1) % p)]
        while not all(request.is_completed() for request in requests):
            pass
    return table
