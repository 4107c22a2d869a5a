# verdict: wrong, diagnosis: wrong_shape
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    mean = x.float().mean()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()
