# verdict: wrong, diagnosis: moves_too_much
import torch
import torch.distributed as dist


def unshard(part, n):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, part)
    return torch.cat(parts)[:n]
