# verdict: wrong, diagnosis: false_alarm
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    before = torch.stack([x.sum(), x.abs().sum()])
    y = x.clone()
    all_reduce(y)
    dist.all_reduce(before)
    after = y.sum()
    good = bool(torch.isfinite(after)) and bool((after - before[0]).abs() <= 1e-10 * before[1] / dist.get_world_size())
    flag = torch.tensor([int(good)])
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)
    return y, bool(flag.item())
