# verdict: passed
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    from torch.nn.utils import get_total_norm

    total = get_total_norm(shards).square()
    dist.all_reduce(total)
    norm = total.sqrt()
    if norm > max_norm:
        torch._foreach_mul_(shards, float(max_norm / norm))
    return norm.item()
