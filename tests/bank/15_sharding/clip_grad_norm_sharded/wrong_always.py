# verdict: wrong, diagnosis: always_scaled
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    for s in shards:
        s.mul_(max_norm / max(norm, 1e-12))
    return norm
