# verdict: wrong, diagnosis: uses_all_reduce
import torch
import torch.distributed as dist


def server_all_reduce(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    return total
