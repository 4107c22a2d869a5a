# verdict: wrong, diagnosis: divides_by_a_little_more
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total)
    norm = total.sqrt().item()
    factor = min(1.0, max_norm / (norm + 1e-6))
    for s in shards:
        s.mul_(factor)
    return norm
