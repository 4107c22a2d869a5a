# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    requests = []
    for step in range(1, p):
        requests.append(dist.irecv(table[(rank - step) % p], (rank - 1) % p))
        requests.append(dist.isend(table[(rank - step + 1) % p], (rank + 1) % p))
    for request in requests:
        request.wait()
    return table
