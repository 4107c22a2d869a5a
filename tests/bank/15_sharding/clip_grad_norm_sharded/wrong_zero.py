# verdict: wrong, diagnosis: zero_divided
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    norm = torch.tensor(norm, dtype=torch.float64)
    factor = norm.clamp(max=max_norm) / norm
    for s in shards:
        s.mul_(factor)
    return norm.item()
