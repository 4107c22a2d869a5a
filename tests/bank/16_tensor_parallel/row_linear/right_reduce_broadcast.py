# verdict: passed
# differs: The sum is made on rank 0, which adds the bias, and goes back to all: bias once, by construction.
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.reduce(y, 0)
    if bias is not None and dist.get_rank() == 0:
        y += bias
    dist.broadcast(y, 0)
    return y
