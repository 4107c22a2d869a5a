# verdict: wrong, diagnosis: whole_table
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    table = x.new_zeros(p, len(x))
    table[rank] = x
    for step in range(1, p):
        request = dist.isend(table, (rank + 1) % p)
        arrived = torch.empty_like(table)
        dist.recv(arrived, (rank - 1) % p)
        request.wait()
        table[(rank - step) % p] = arrived[(rank - step) % p]
    return table
