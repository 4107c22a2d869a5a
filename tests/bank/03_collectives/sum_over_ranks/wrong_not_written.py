# verdict: missing, diagnosis: not_written
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError("write this function")
