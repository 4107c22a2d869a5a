# verdict: wrong, diagnosis: only_one_rank
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.reduce(y, 0)
    return y if bias is None else y + bias
