# verdict: passed
import torch
import torch.distributed as dist


def unshard(part, n):
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part.contiguous())
    return torch.cat(parts)[:n].clone()
