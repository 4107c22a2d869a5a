# verdict: passed
import torch
import torch.distributed as dist


def mean_over_ranks(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(p)]
    dist.all_gather(gathered, x.contiguous())
    stacked = torch.stack(gathered)
    if not stacked.is_floating_point():
        stacked = stacked.double()
    return stacked.mean(dim=0)
