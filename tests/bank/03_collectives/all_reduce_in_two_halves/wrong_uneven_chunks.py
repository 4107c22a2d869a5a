# verdict: hung, diagnosis: mismatched_shape
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p = dist.get_rank(), dist.get_world_size()
    chunks = [c.clone() for c in torch.tensor_split(x, p)]
    mine = torch.empty_like(chunks[rank])
    dist.reduce_scatter(mine, chunks)
    gathered = [torch.empty_like(c) for c in chunks]
    dist.all_gather(gathered, mine)
    return torch.cat(gathered)
