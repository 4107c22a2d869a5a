# verdict: wrong, diagnosis: wrong_order
import torch
import torch.distributed as dist


def all_reduce_in_two_halves(x):
    p, n = dist.get_world_size(), len(x)
    s = -(-n // p)
    y = torch.zeros(p * s, dtype=x.dtype)
    y[:n] = x
    c = torch.empty(s, dtype=x.dtype)
    dist.reduce_scatter(c, list(y.chunk(p)))
    out = [torch.empty(s, dtype=x.dtype) for _ in range(p)]
    dist.all_gather(out, c)
    return torch.cat(out[::-1])[-n:]
