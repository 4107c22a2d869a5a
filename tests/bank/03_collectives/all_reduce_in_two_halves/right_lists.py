# verdict: passed
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    size = -(-len(x) // p)
    padded = torch.zeros(size * p, dtype=x.dtype)
    padded[: len(x)] = x
    mine = torch.zeros(size, dtype=x.dtype)
    dist.reduce_scatter(mine, [c.contiguous() for c in padded.split(size)], op=dist.ReduceOp.SUM)
    everything = [torch.zeros_like(mine) for _ in range(p)]
    dist.all_gather(everything, mine)
    return torch.cat(everything)[: len(x)].clone()
