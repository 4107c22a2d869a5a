# verdict: wrong, diagnosis: wrong_order
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    y = own.new_empty(p * len(x), own.shape[1])
    dist.all_gather_into_tensor(y, own)
    return y.view(len(x), -1)
