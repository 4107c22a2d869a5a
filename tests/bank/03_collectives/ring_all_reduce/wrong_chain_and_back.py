# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    if rank > 0:
        dist.recv(arrived, src=rank - 1)
        total += arrived
    if rank < p - 1:
        dist.send(total, dst=rank + 1)
        dist.recv(total, src=rank + 1)
    if rank > 0:
        dist.send(total, dst=rank - 1)
    return total
