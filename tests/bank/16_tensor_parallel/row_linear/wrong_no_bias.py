# verdict: wrong, diagnosis: no_bias
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.all_reduce(y)
    return y
