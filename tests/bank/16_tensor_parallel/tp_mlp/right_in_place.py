# verdict: passed
import torch.distributed as dist
from torch import autograd, nn


class SumsItsGradient(autograd.Function):
    @staticmethod
    def forward(ctx, whole):
        return whole.clone()

    @staticmethod
    def backward(ctx, part):
        total = part.contiguous().clone()
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        return total


def tp_mlp(x, up, up_bias, down, down_bias):
    mine = nn.functional.gelu(SumsItsGradient.apply(x) @ up.t() + up_bias)
    out = mine @ down.t()
    dist.all_reduce(out.data)  # the sum's gradient is the same on every rank: autograd need not know
    out = out + down_bias
    return out
