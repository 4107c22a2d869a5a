# verdict: passed
# differs: No root: in every round pairs exchange and both add, so everybody has the sum after half of the steps.
import torch
import torch.distributed as dist


def exchange(value, partner):
    other = torch.empty_like(value)
    work = dist.isend(value, partner)
    dist.recv(other, partner)
    work.wait()
    return value + other


def tree_all_reduce(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    core = 2 ** (p.bit_length() - 1)  # the largest power of two that is not above p
    total = x.clone()
    if rank >= core:  # the surplus ranks hand over, and wait for the answer
        dist.send(total, rank - core)
        dist.recv(total, rank - core)
        return total
    if rank + core < p:
        arrived = torch.empty_like(total)
        dist.recv(arrived, rank + core)
        total += arrived
    distance = 1
    while distance < core:
        total = exchange(total, rank ^ distance)
        distance *= 2
    if rank + core < p:
        dist.send(total, rank + core)
    return total
