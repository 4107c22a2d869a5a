# verdict: wrong, diagnosis: clipped_by_value
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    for s in shards:
        s.clamp_(-max_norm, max_norm)
    return norm
