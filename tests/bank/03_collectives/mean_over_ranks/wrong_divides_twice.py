# verdict: wrong, diagnosis: divided_twice
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    share = x / p
    dist.all_reduce(share)
    return share / p
