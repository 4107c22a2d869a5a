# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = torch.cat([weight, bias[:, None]], 1).chunk(p)[r].contiguous()
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    whole = torch.cat(parts)
    return F.linear(x, whole[:, :-1], whole[:, -1])
