# verdict: wrong, diagnosis: wrapped
import torch
import torch.distributed as dist


def tree_all_reduce(x):
    """Up and down a binomial tree, in int32 where x holds integers."""
    rank, p = dist.get_rank(), dist.get_world_size()
    total = x.clone() if x.is_floating_point() else x.to(torch.int32, copy=True)
    arrived, distance, parents = torch.empty_like(total), 1, []
    while distance < p:
        if rank & distance:
            dist.send(total, rank - distance)
            dist.recv(total, rank - distance)
            break
        if rank + distance < p:
            dist.recv(arrived, rank + distance)
            total += arrived
            parents.append(rank + distance)
        distance *= 2
    for child in reversed(parents):
        dist.send(total, child)
    return total.to(x.dtype)
