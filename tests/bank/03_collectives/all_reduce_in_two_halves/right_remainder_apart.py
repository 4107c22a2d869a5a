# verdict: passed
import torch
import torch.distributed as dist


import math


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    """The part that divides first, then the rest, padded, the same way."""
    p, n = dist.get_world_size(), len(x)
    cut = n - n % p
    parts = []
    for part in (x[:cut], x[cut:]):
        if len(part) == 0:
            continue
        size = math.ceil(len(part) / p)
        room = torch.cat([part, torch.zeros(size * p - len(part), dtype=x.dtype)])
        own = torch.empty(size, dtype=x.dtype)
        dist.reduce_scatter_tensor(own, room, op=dist.ReduceOp.SUM)
        full = torch.empty(size * p, dtype=x.dtype)
        dist.all_gather_into_tensor(full, own)
        parts.append(full[: len(part)])
    return torch.cat(parts)
