# verdict: wrong, diagnosis: local_norm_clipping
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    norm = sum((s**2).sum() for s in shards).sqrt().item()
    dist.barrier()
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm
