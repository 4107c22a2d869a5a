# verdict: raised, diagnosis: RuntimeError
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.all_reduce(y)
    return y if bias is None else bias.add_(0).add_(y)
