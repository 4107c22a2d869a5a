# verdict: hung, diagnosis: returned_early
import torch
import torch.distributed as dist


def ring_pass(x):
    rank = dist.get_rank()
    other = 1 - rank if rank < 2 else 0
    table = torch.zeros(2, len(x), dtype=x.dtype)
    table[rank % 2] = x
    request = dist.isend(x, other)
    dist.recv(table[1 - rank % 2], other)
    request.wait()
    return table
