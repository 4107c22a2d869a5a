# verdict: wrong, diagnosis: floor_division
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    if x.is_floating_point():
        total = x.clone()
        dist.all_reduce(total)
        return total / p
    total = x.to(torch.int64)
    dist.all_reduce(total)
    return total // p
