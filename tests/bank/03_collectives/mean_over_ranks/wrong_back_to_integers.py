# verdict: wrong, diagnosis: floor_division
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.to(torch.float64, copy=True)
    dist.all_reduce(total)
    return (total / dist.get_world_size()).to(x.dtype)
