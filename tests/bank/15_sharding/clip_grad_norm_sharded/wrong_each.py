# verdict: wrong, diagnosis: clipped_each_tensor
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    squares = torch.stack([(s**2).sum() for s in shards])
    own = squares.sqrt()
    total = squares.sum()
    dist.all_reduce(total)
    for s, norm in zip(shards, own.tolist()):
        if norm > max_norm:
            s.mul_(max_norm / norm)
    return total.sqrt().item()
