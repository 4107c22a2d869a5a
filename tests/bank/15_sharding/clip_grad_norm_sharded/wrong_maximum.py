# verdict: wrong, diagnosis: largest_norm
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = sum((s**2).sum() for s in shards)
    dist.all_reduce(total, op=dist.ReduceOp.MAX)
    norm = total.sqrt().item()
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm
