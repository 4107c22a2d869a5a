# verdict: passed
# differs: The vector is padded to a multiple of the ranks and cut back at the end, so that all chunks are alike.
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    p, n = dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    dist.reduce_scatter_tensor(chunk, padded)
    result = torch.empty_like(padded)
    dist.all_gather_into_tensor(result, chunk)
    return result[:n]
