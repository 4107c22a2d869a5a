# verdict: wrong, diagnosis: one_step_short
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    work = dist.isend(x, (rank + 1) % p)
    dist.recv(arrived, (rank - 1) % p)
    work.wait()
    return x + arrived
