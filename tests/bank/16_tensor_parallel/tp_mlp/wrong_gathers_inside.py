# verdict: wrong, diagnosis: not_two_all_reduces
import torch
import torch.distributed as dist
import torch.nn.functional as F


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts, 1)

    @staticmethod
    def backward(ctx, g):
        return g.chunk(dist.get_world_size(), 1)[dist.get_rank()]



class CopyIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


class SumOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


def tp_mlp(x, up, up_bias, down, down_bias):
    hidden = F.gelu(F.linear(CopyIn.apply(x), up, up_bias))
    return F.linear(Gather.apply(hidden), Gather.apply(down), down_bias)
