# verdict: wrong, diagnosis: false_alarm
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    sums = torch.stack([x.sum(), x.abs().sum()])
    own = sums[1].clone()
    dist.all_reduce(sums)
    ok = ((total.sum() - sums[0]).abs() <= 1e-10 * own).long()
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)
