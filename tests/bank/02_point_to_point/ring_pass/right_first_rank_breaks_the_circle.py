# verdict: passed
import torch
import torch.distributed as dist


def ring_pass(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    left, right = (rank + p - 1) % p, (rank + 1) % p
    rows = {rank: x.clone()}
    passing = x.clone()
    for step in range(p - 1):
        arriving = torch.empty_like(x)
        if rank == 0:
            dist.send(passing, right)
            dist.recv(arriving, left)
        else:
            dist.recv(arriving, left)
            dist.send(passing, right)
        passing = arriving
        rows[(rank - step - 1) % p] = arriving
    return torch.stack([rows[r] for r in range(p)])
