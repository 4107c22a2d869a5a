# verdict: passed
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    rows = [torch.empty_like(x) for _ in range(p)]
    rows[rank] = x.clone()
    receives = [dist.irecv(rows[(rank - s) % p], (rank - 1) % p) for s in range(1, p)]
    for s in range(p - 1):
        if s > 0:
            receives[s - 1].wait()
        dist.isend(rows[(rank - s) % p], (rank + 1) % p).wait()
    receives[-1].wait()
    return torch.vstack(rows)
