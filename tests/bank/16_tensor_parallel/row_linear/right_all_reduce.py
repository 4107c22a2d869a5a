# verdict: passed
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.all_reduce(y)
    return y if bias is None else y + bias
