# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    width = bias.numel() // p
    if width * p != bias.numel():
        raise ValueError(p)
    y = []
    for q in range(p):
        piece = torch.zeros(len(x), width, dtype=x.dtype)
        if q == r:
            piece = F.linear(x, weight[q * width:(q + 1) * width], bias[q * width:(q + 1) * width])
        dist.broadcast(piece, q)
        y.append(piece)
    return torch.cat(y, -1)
