# verdict: wrong, diagnosis: only_one_rank
import torch
import torch.distributed as dist


def unshard(part, n):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
    dist.gather(part, parts)
    whole = torch.zeros(n, dtype=part.dtype)
    if parts:
        whole = torch.cat(parts)[:n]
    return whole
