# verdict: passed
# differs: Every rank gets all p tensors and adds them itself: p times the memory, and the order of the sum is yours.
import torch
import torch.distributed as dist


def sum_over_ranks(x: torch.Tensor) -> torch.Tensor:
    everyone = [torch.zeros_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, x)
    return torch.stack(everyone).sum(dim=0, dtype=x.dtype)
