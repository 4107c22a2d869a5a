# verdict: wrong, diagnosis: divided_by_p_minus_1
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    last_rank = dist.get_world_size() - 1
    total = x.float() if not x.is_floating_point() else x.clone()
    dist.all_reduce(total)
    return total / last_rank
