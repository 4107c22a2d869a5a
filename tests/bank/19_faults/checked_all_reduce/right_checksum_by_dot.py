# verdict: passed
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    sums = torch.stack([x @ torch.ones_like(x), x.norm(1)])
    dist.all_reduce(sums)
    ok = ((total @ torch.ones_like(x) - sums[0]).abs() <= 1e-10 * sums[1]).long()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)
