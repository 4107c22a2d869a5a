# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    kind = x.dtype
    x, weight, bias = x.float(), weight.float(), bias.float()
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    return torch.cat(parts, dim=1).to(kind)
