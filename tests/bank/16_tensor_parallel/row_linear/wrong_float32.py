# verdict: wrong, diagnosis: lost_digits
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x.float() @ weight.float().T
    dist.all_reduce(y)
    y = y.double()
    return y if bias is None else y + bias
