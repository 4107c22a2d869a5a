# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    p, r = dist.get_world_size(), dist.get_rank()
    got = [torch.empty_like(x) for _ in range(p)] if r == 0 else None
    dist.gather(x, got, dst=0)
    total = torch.empty_like(x)
    dist.scatter(total, [torch.stack(got).sum(0, dtype=x.dtype)] * p if r == 0 else None, src=0)
    return total
