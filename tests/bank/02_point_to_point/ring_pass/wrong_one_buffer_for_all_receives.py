# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = torch.zeros(p, len(x), dtype=x.dtype)
    table[rank] = x
    moving, arriving = x.clone(), torch.empty_like(x)
    requests = [dist.irecv(arriving, (rank - 1) % p) for _ in range(p - 1)]
    for step in range(1, p):
        send = dist.isend(moving, (rank + 1) % p)
        requests[step - 1].wait()
        send.wait()
        moving = arriving.clone()
        table[(rank - step) % p] = moving
    return table
