# verdict: wrong, diagnosis: times_world_size
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    # every rank holds the same matrix
    return x * dist.get_world_size()
