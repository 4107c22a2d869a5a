# verdict: wrong, diagnosis: floors_before_the_sum
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    share = x / p if x.is_floating_point() else x // p
    dist.all_reduce(share)
    return share
