# verdict: passed
# differs: A hook sums the gradient of the input, and the sum of the outputs is added as a constant: no autograd function.
import torch
import torch.distributed as dist
import torch.nn.functional as F


def summed(g):
    g = g.clone()
    dist.all_reduce(g)
    return g


def tp_mlp(x, up, up_bias, down, down_bias):
    x = x.view_as(x)
    if x.requires_grad:
        x.register_hook(summed)
    y = F.gelu(F.linear(x, up, up_bias)) @ down.T
    with torch.no_grad():
        rest = y.detach().clone()
        dist.all_reduce(rest)
        rest -= y
    return y + rest + down_bias
