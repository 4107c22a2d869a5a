# verdict: wrong, diagnosis: own_norm_returned
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    own = sum((s**2).sum() for s in shards).sqrt().item()
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return own
