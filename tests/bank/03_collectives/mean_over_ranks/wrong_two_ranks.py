# verdict: wrong, diagnosis: fixed_world_size
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return 0.5 * total
