# verdict: wrong, diagnosis: summed
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    if len(weight) % p:
        raise ValueError("columns do not divide")
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    dist.all_reduce(own)
    return own
