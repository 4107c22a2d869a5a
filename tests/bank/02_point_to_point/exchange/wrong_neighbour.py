# verdict: wrong, diagnosis: assumes_neighbour
import torch
import torch.distributed as dist


def exchange(x, partner):
    rank = dist.get_rank()
    other = rank + 1 if rank % 2 == 0 else rank - 1
    if other >= dist.get_world_size():
        return x.clone()
    y = torch.empty_like(x)
    request = dist.isend(x, other)
    dist.recv(y, other)
    request.wait()
    return y
