# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


class Conjugate(torch.autograd.Function):
    """f and g in one: which direction sums is an argument."""

    @staticmethod
    def forward(ctx, x, forwards):
        ctx.forwards = forwards
        out = x.detach().clone()
        if forwards:
            dist.all_reduce(out)
        return out

    @staticmethod
    def backward(ctx, g):
        if not ctx.forwards:
            g = g.contiguous().clone()
            dist.all_reduce(g)
        return g, None


def tp_mlp(x, up, up_bias, down, down_bias):
    y = F.gelu(Conjugate.apply(x, False) @ up.T + up_bias) @ down.T
    return Conjugate.apply(y, True).add(down_bias)
