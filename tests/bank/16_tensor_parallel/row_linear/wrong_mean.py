# verdict: wrong, diagnosis: averaged
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    dist.all_reduce(y)
    y /= dist.get_world_size()
    return y if bias is None else y + bias
