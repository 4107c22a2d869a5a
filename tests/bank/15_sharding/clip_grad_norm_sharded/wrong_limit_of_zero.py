# verdict: wrong, diagnosis: not_clipped
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    total = torch.zeros(1, dtype=torch.float64)
    for s in shards:
        total += s.double().square().sum()
    dist.all_reduce(total)
    norm = float(total.sqrt())
    if max_norm and norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm
