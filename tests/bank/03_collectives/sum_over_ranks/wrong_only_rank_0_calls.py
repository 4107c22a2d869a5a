# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    if dist.get_rank() == 0:
        dist.all_reduce(total)
    return total
