# verdict: wrong, diagnosis: number_of_sends
import torch
import torch.distributed as dist


def ring_pass(x):
    """The table fills up on its way to the last rank, and then goes round once more."""
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank - 1) % p, (rank + 1) % p
    table = torch.zeros(p, len(x), dtype=x.dtype)
    if rank > 0:
        dist.recv(table, src=left)
    table[rank] = x
    dist.send(table, dst=right) if rank < p - 1 else None
    if rank < p - 1:
        dist.recv(table, src=left)
    if rank != p - 2:
        dist.send(table, dst=right)
    return table
