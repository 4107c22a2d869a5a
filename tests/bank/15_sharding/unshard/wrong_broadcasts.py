# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def unshard(part, n):
    parts = []
    for r in range(dist.get_world_size()):
        other = part.clone()
        dist.broadcast(other, r)
        parts.append(other)
    return torch.cat(parts)[:n]
