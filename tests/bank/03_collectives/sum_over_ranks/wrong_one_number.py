# verdict: wrong, diagnosis: wrong_shape
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.sum()
    dist.all_reduce(total)
    return total
