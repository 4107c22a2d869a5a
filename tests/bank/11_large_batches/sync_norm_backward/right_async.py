# verdict: passed
import torch
import torch.distributed as dist


def sync_norm_backward(g, xhat, weight, inv, n):
    bias_gradient = g.sum(dim=0)
    weight_gradient = torch.einsum("ij,ij->j", g, xhat)
    sums = torch.cat([bias_gradient, weight_gradient])
    work = dist.all_reduce(sums, async_op=True)
    scale = weight * inv
    gx = scale * g
    work.wait()
    first, second = (sums / n).chunk(2)
    return gx - scale * (first + xhat * second), weight_gradient, bias_gradient
