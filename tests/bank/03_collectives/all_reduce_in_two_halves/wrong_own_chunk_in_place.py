# verdict: wrong, diagnosis: never_gathered
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    result = x.clone()
    chunks = list(result.chunk(p))
    mine = torch.empty_like(chunks[rank])
    dist.reduce_scatter(mine, chunks)
    chunks[rank].copy_(mine)
    return result
