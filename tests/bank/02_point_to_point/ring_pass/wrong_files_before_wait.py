# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    moving = x.clone()
    for step in range(1, p):
        arriving = torch.empty_like(x)
        requests = [dist.irecv(arriving, (rank - 1) % p), dist.isend(moving, (rank + 1) % p)]
        table[(rank - step) % p] = arriving
        for request in requests:
            request.wait()
        moving = arriving
    return table
