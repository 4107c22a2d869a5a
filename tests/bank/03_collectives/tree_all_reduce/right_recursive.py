# verdict: passed
import torch
import torch.distributed as dist


def reduce_range(total, first, last):
    """Sum over ranks first .. last - 1, left on rank first; then back again."""
    rank = dist.get_rank()
    if last - first == 1:
        return
    middle = (first + last + 1) // 2
    if rank < middle:
        reduce_range(total, first, middle)
    else:
        reduce_range(total, middle, last)
    if rank == first:
        other = torch.empty_like(total)
        dist.recv(other, src=middle)
        total += other
    elif rank == middle:
        dist.send(total, dst=first)


def broadcast_range(total, first, last):
    rank = dist.get_rank()
    if last - first == 1:
        return
    middle = (first + last + 1) // 2
    if rank == first:
        dist.send(total, dst=middle)
    elif rank == middle:
        dist.recv(total, src=first)
    if rank < middle:
        broadcast_range(total, first, middle)
    else:
        broadcast_range(total, middle, last)


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    broadcast_range_from = 0
    reduce_range(total, broadcast_range_from, dist.get_world_size())
    broadcast_range(total, broadcast_range_from, dist.get_world_size())
    return total
