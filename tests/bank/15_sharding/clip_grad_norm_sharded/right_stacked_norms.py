# verdict: passed
# differs: The factor is clamped at 1, so that the multiplication needs no `if`.
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    square = torch.stack([torch.linalg.vector_norm(s) for s in shards]).square().sum()
    dist.all_reduce(square)
    norm = square.sqrt()
    factor = torch.clamp(max_norm / norm, max=1.0) if norm > 0 else 1.0
    for s in shards:
        s *= factor
    return norm
