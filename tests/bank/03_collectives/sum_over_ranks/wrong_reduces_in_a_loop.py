# verdict: wrong, diagnosis: summed_twice
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    for _ in range(2):
        dist.all_reduce(total)
    return total
