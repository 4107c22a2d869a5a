# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    arrived = torch.empty_like(x)
    distance = 1
    while distance < p:
        if rank % (2 * distance) == distance:
            dist.send(x, dst=rank - distance)
            break
        if rank + distance < p:
            dist.recv(arrived, src=rank + distance)
            x += arrived
        distance *= 2
    while distance >= 1:
        if rank % (2 * distance) == distance:
            dist.recv(x, src=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(x, dst=rank + distance)
        distance //= 2
    return x
