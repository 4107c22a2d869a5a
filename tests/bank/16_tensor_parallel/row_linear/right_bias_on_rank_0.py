# verdict: passed
import torch.distributed as dist
import torch.nn.functional as F


def row_linear(x, weight, bias):
    y = F.linear(x, weight, bias if dist.get_rank() == 0 else None)
    dist.all_reduce(y)
    return y
