# verdict: wrong, diagnosis: local_norm_clipping
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    norm = sum((s**2).sum() for s in shards).sqrt().item()
    whole = torch.tensor(norm**2, dtype=torch.float64)
    dist.all_reduce(whole)
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return whole.sqrt().item()
