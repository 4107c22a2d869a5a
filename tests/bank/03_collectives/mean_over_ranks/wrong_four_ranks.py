# verdict: wrong, diagnosis: fixed_world_size
import torch
import torch.distributed as dist


RANKS = 4


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.float() if not x.is_floating_point() else x.clone()
    dist.all_reduce(total)
    return total / RANKS
