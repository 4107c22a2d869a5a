# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    p = dist.get_world_size()
    out = torch.cat([x.reshape(-1)] * p)
    got = torch.empty_like(out)
    dist.all_to_all_single(got, out)
    return got.reshape(p, *x.shape).sum(0, dtype=x.dtype)
