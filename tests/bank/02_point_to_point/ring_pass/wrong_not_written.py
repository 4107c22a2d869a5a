# verdict: missing, diagnosis: not_written
import torch
import torch.distributed as dist


def ring_pass(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError()
