# verdict: wrong, diagnosis: own_divided
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return x / dist.get_world_size()
