# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    if not x.is_floating_point():
        x = x.float()
    dist.all_reduce(x)
    return x / dist.get_world_size()
