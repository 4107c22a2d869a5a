# verdict: wrong, diagnosis: not_through_rank_0
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone()
    works = [dist.isend(x, dst=other) for other in range(p) if other != rank]
    arrived = torch.empty_like(x)
    for other in range(p):
        if other != rank:
            dist.recv(arrived, src=other)
            total += arrived
    for work in works:
        work.wait()
    return total
