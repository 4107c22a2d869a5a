# verdict: wrong, diagnosis: own_first
import torch
import torch.distributed as dist


def unshard(part, n):
    r = dist.get_rank()
    parts = [torch.empty_like(part) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, part)
    return torch.cat(parts[r:] + parts[:r])[:n]
