# verdict: wrong, diagnosis: moves_too_much
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    flat = torch.cat([s.reshape(-1) for s in shards])
    sizes = [None] * dist.get_world_size()
    dist.all_gather_object(sizes, flat.tolist())
    norm = sum(x * x for one in sizes for x in one) ** 0.5
    if norm > max_norm:
        for s in shards:
            s.mul_(max_norm / norm)
    return norm
