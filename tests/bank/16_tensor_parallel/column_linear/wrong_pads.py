# verdict: wrong, diagnosis: accepts_any_size
import torch
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    h = len(weight)
    width = -(-h // p)
    more = p * width - h
    weight, bias = F.pad(weight, (0, 0, 0, more)), F.pad(bias, (0, more))
    own = F.linear(x, weight.split(width)[r], bias.split(width)[r])
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    return torch.cat(parts, dim=1)[:, :h]
