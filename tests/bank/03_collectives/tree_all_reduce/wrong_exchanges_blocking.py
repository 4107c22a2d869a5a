# verdict: hung, diagnosis: unsafe_send
import torch
import torch.distributed as dist


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        partner = rank ^ distance
        if partner < p:
            dist.send(total, partner)
            dist.recv(arrived, partner)
            total += arrived
        distance *= 2
    return total
