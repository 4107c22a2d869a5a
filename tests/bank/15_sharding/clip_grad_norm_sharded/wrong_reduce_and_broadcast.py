# verdict: wrong, diagnosis: too_many_collectives
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.reduce(total, 0)
    dist.broadcast(total, 0)
    norm = total.sqrt().item()
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm
