# verdict: raised, diagnosis: AssertionError
import torch
import torch.distributed as dist
import torch.nn.functional as F


def column_linear(x, weight, bias):
    p, r = dist.get_world_size(), dist.get_rank()
    assert len(weight) % p == 0
    own = F.linear(x, weight.chunk(p)[r], bias.chunk(p)[r])
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    return torch.cat(parts, dim=1)
