# verdict: wrong, diagnosis: keeps_padding
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), x.numel()
    padded = torch.cat([x, torch.zeros(p - n % p, dtype=x.dtype)])
    chunk = padded.new_empty(padded.numel() // p)
    dist.reduce_scatter_tensor(chunk, padded)
    result = torch.empty_like(padded)
    dist.all_gather_into_tensor(result, chunk)
    return result
