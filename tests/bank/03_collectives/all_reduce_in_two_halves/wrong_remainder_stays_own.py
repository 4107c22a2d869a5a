# verdict: wrong, diagnosis: drops_remainder
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p = dist.get_world_size()
    size = len(x) // p
    result = x.clone()
    if size:
        chunk = torch.empty(size, dtype=x.dtype)
        dist.reduce_scatter_tensor(chunk, x[: size * p].contiguous())
        dist.all_gather_into_tensor(result[: size * p], chunk)
    return result
