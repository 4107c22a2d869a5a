# verdict: passed
# differs: Rows are kept as columns of the transposed table; what is sent must then be made contiguous first, and what arrives needs room of its own.
import torch
import torch.distributed as dist


def ring_pass(x):
    # one column per rank, turned at the end; with n = 1 a column is a single element with a large stride
    rank, p = dist.get_rank(), dist.get_world_size()
    columns = torch.zeros(x.numel(), p, dtype=x.dtype)
    columns[:, rank] = x
    for step in range(p - 1):
        request = dist.isend(columns[:, (rank - step) % p].contiguous(), (rank + 1) % p)
        room = torch.empty_like(x)
        dist.irecv(room, (rank - 1) % p).wait()
        columns[:, (rank - step - 1) % p] = room
        request.wait()
    return columns.T
