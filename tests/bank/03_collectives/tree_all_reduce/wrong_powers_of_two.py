# verdict: wrong, diagnosis: powers_of_two_only
import torch
import torch.distributed as dist


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        partner = rank ^ distance
        if partner < p:
            work = dist.isend(total.clone(), partner)
            dist.recv(arrived, partner)
            work.wait()
            total += arrived
        distance *= 2
    return total
