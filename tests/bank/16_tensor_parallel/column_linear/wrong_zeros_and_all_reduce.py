# verdict: wrong, diagnosis: too_many_bytes
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    y = x.new_zeros(len(x), len(bias))
    y.chunk(p, 1)[r].copy_(own)
    dist.all_reduce(y)
    return y
