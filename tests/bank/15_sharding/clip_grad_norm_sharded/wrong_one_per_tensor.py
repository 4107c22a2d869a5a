# verdict: wrong, diagnosis: moves_too_much
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = 0.0
    for s in shards:
        square = (s**2).sum()
        dist.all_reduce(square)
        total += square.item()
    norm = total**0.5
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm
