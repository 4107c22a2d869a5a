# verdict: wrong, diagnosis: gradient_not_gathered
import torch
import torch.distributed as dist
import torch.nn.functional as F


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new_empty(dist.get_world_size() * len(x), x.shape[1])
        dist.all_gather_into_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_empty(len(g) // dist.get_world_size(), g.shape[1])
        dist.reduce_scatter_tensor(out, g.contiguous())
        return out


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new_empty(len(x) // dist.get_world_size(), x.shape[1])
        dist.reduce_scatter_tensor(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, g):
        out = g.new_zeros(dist.get_world_size() * len(g), g.shape[1])
        out.chunk(dist.get_world_size())[dist.get_rank()][:] = g
        return out


class CopyIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


def sequence_parallel_mlp(x, up, up_bias, down, down_bias):
    hidden = F.gelu(F.linear(Gather.apply(x), up, up_bias))
    return Scatter.apply(hidden @ down.T) + CopyIn.apply(down_bias)
