# verdict: wrong, diagnosis: wrong_dtype
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), x.numel()
    size = -(-n // p)
    padded = torch.zeros(size * p)
    padded[:n] = x
    chunk = torch.empty(size)
    dist.reduce_scatter_tensor(chunk, padded)
    result = torch.empty(size * p)
    dist.all_gather_into_tensor(result, chunk)
    return result[:n]
