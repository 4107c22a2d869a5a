# verdict: wrong, diagnosis: powers_of_two_only
import torch
import torch.distributed as dist


import math


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    steps = int(math.log2(p))
    for k in range(steps):
        if rank % 2 ** (k + 1) == 2**k:
            dist.send(total, rank - 2**k)
            break
        if rank % 2 ** (k + 1) == 0 and rank + 2**k < p:
            dist.recv(arrived, rank + 2**k)
            total += arrived
    for k in reversed(range(steps)):
        if rank % 2 ** (k + 1) == 2**k:
            dist.recv(total, rank - 2**k)
        elif rank % 2 ** (k + 1) == 0 and rank + 2**k < p:
            dist.send(total, rank + 2**k)
    return total
