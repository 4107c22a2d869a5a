# verdict: raised, diagnosis: RuntimeError
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    columns = torch.zeros(x.numel(), p, dtype=x.dtype)
    columns[:, rank] = x
    for step in range(p - 1):
        request = dist.isend(columns[:, (rank - step) % p].contiguous(), (rank + 1) % p)
        dist.irecv(columns[:, (rank - step - 1) % p], (rank - 1) % p).wait()
        request.wait()
    return columns.T
