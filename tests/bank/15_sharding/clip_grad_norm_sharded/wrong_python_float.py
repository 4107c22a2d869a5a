# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    square = 0.0
    for s in shards:
        square += float((s * s).sum())
    total = torch.tensor([square])
    dist.all_reduce(total)
    norm = total.item() ** 0.5
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm
