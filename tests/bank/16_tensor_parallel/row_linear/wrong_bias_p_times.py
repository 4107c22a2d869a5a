# verdict: wrong, diagnosis: bias_on_every_rank
import torch.distributed as dist
import torch.nn.functional as F


def row_linear(x, weight, bias):
    y = F.linear(x, weight, bias)
    dist.all_reduce(y)
    return y
