# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def ring_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    longest = -(-len(x) // p)
    table = torch.zeros(p, longest, dtype=x.dtype)
    table.view(-1)[: len(x)] = x
    moving = table[rank].clone()
    for step in range(p - 1):
        send = dist.isend(moving, (rank + 1) % p)
        receive = dist.irecv(moving, (rank - 1) % p)
        receive.wait()
        send.wait()
        moving += table[(rank - step - 1) % p]
    table[(rank + 1) % p] = moving
    for step in range(p - 1):
        send = dist.isend(moving, (rank + 1) % p)
        receive = dist.irecv(moving, (rank - 1) % p)
        receive.wait()
        send.wait()
        table[(rank - step) % p] = moving
    return table.view(-1)[: len(x)]
