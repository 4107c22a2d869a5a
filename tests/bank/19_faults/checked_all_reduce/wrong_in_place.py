# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total = x
    sums = torch.stack([x.sum(), x.abs().sum()])
    all_reduce(total)
    dist.all_reduce(sums)
    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * sums[1]).long()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)
