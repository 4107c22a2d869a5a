# verdict: wrong, diagnosis: product
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total, op=dist.ReduceOp.PRODUCT)
    return total
