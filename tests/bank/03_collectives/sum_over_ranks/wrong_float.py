# verdict: wrong, diagnosis: wrong_dtype
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.float().clone()
    dist.all_reduce(total)
    return total
