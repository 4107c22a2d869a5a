# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def clip_grad_norm_sharded(shards, max_norm):
    squares = torch.zeros(1, dtype=torch.float64)
    for one in shards:
        squares += (one**2).sum()
    dist.all_reduce(squares)
    norm = float(squares.sqrt())
    if norm > max_norm:
        for one in shards:
            one.mul_(max_norm / norm)
    return float(torch.tensor(norm))
