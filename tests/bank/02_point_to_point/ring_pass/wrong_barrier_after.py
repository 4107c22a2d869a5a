# verdict: wrong, diagnosis: needless_barrier
import torch
import torch.distributed as dist


def ring_pass(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    result = x.repeat(p, 1)
    current = x
    for source in range(rank - 1, rank - p, -1):
        incoming = torch.zeros_like(x)
        if rank % 2 == 0:
            dist.send(current, (rank + 1) % p)
            dist.recv(incoming, (rank - 1) % p)
        else:
            dist.recv(incoming, (rank - 1) % p)
            dist.send(current, (rank + 1) % p)
        current = incoming
        result[source % p] = current
    dist.barrier()
    return result
