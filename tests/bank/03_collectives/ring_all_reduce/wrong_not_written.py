# verdict: missing, diagnosis: not_written
import torch
import torch.distributed as dist


def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError("write this function")
