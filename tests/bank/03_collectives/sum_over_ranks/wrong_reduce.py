# verdict: wrong, diagnosis: only_one_rank
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.reduce(total, dst=0, op=dist.ReduceOp.SUM)
    return total
