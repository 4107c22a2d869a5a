# verdict: wrong, diagnosis: computes_the_whole
import torch
import torch.distributed as dist


def column_linear(x, weight, bias):
    p, rank = dist.get_world_size(), dist.get_rank()
    if weight.shape[0] % p:
        raise ValueError(f"{p} does not divide {weight.shape[0]}")
    own = (x @ weight.T + bias).chunk(p, dim=1)[rank].contiguous()
    parts = [torch.empty_like(own) for _ in range(p)]
    dist.all_gather(parts, own)
    return torch.cat(parts, dim=1)
