# verdict: passed
import torch
import torch.distributed as dist


def value_of(rank, x):
    other = x.clone() if dist.get_rank() == rank else torch.empty_like(x)
    dist.broadcast(other, rank)
    return other


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    return sum(value_of(rank, x) for rank in range(dist.get_world_size()))
