# verdict: wrong, diagnosis: bias_gradient_summed
import torch
import torch.distributed as dist
import torch.nn.functional as F


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
    return SumOut.apply(F.linear(hidden, down)) + CopyIn.apply(down_bias)
