# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist
import torch.nn.functional as F


def row_linear(x, weight, bias):
    p = dist.get_world_size()
    xs = [torch.empty_like(x) for _ in range(p)]
    ws = [torch.empty_like(weight) for _ in range(p)]
    dist.all_gather(xs, x.contiguous())
    dist.all_gather(ws, weight.contiguous())
    return F.linear(torch.cat(xs, 1), torch.cat(ws, 1), bias)
