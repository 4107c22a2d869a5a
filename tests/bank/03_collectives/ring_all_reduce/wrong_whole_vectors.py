# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, moving = x.clone(), x.clone()
    for _ in range(p - 1):
        arrived = torch.empty_like(x)
        work = dist.isend(moving, (rank + 1) % p)
        dist.recv(arrived, (rank - 1) % p)
        work.wait()
        total += arrived
        moving = arrived
    return total
