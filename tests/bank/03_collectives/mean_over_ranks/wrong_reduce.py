# verdict: wrong, diagnosis: only_one_rank
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    total = x.clone() if x.is_floating_point() else x.float()
    dist.reduce(total, 0)
    if dist.get_rank() == 0:
        total /= dist.get_world_size()
    return total
