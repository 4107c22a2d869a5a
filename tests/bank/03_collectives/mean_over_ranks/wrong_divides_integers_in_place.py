# verdict: raised, diagnosis: RuntimeError
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone()
    dist.all_reduce(total)
    total /= dist.get_world_size()
    return total
