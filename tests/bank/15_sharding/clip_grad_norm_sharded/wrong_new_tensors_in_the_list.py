# verdict: wrong, diagnosis: not_clipped
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    if norm > max_norm:
        shards[:] = [s * (max_norm / norm) for s in shards]
    return norm
