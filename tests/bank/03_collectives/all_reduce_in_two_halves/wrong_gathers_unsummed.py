# verdict: wrong, diagnosis: not_summed
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p, n = dist.get_rank(), dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.chunk(p)[rank].clone()
    result = torch.empty_like(padded)
    dist.all_gather_into_tensor(result, chunk)
    dist.reduce_scatter_tensor(chunk, padded)
    return result[:n]
