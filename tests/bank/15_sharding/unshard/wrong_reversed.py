# verdict: wrong, diagnosis: wrong_order
import torch
import torch.distributed as dist


def unshard(part, n):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.cat(parts[::-1])[:n]
