# verdict: wrong, diagnosis: limit_too_high
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    sums = torch.stack([x.sum(), x.abs().sum()])
    dist.all_reduce(sums)
    ok = ((total.sum() - sums[0]).abs() <= 1e-9 * sums[1]).long()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)
