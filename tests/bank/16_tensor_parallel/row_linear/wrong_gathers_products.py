# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def row_linear(x, weight, bias):
    y = x @ weight.T
    parts = [torch.empty_like(y) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, y)
    y = sum(parts)
    return y if bias is None else y + bias
