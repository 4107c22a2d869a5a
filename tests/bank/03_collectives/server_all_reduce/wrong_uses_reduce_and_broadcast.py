# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.reduce(total, dst=0)
    dist.broadcast(total, src=0)
    return total
