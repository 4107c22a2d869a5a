# verdict: wrong, diagnosis: no_all_gather
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x: torch.Tensor) -> torch.Tensor:
    rank, p, n = dist.get_rank(), dist.get_world_size(), x.numel()
    padded = torch.nn.functional.pad(x, (0, -n % p))
    chunk = padded.new_empty(padded.numel() // p)
    dist.reduce_scatter_tensor(chunk, padded)
    chunks = []
    for owner in range(p):
        piece = chunk.clone() if rank == owner else torch.empty_like(chunk)
        dist.broadcast(piece, src=owner)
        chunks.append(piece)
    return torch.cat(chunks)[:n]
