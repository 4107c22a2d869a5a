# verdict: passed
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    sums = torch.tensor([x.sum(), x.abs().sum()], dtype=torch.float64)
    dist.all_reduce(sums)
    total = x.clone()
    all_reduce(total)
    good = abs(float(total.sum()) - float(sums[0])) <= 1e-10 * float(sums[1])
    bad = torch.tensor([0 if good else 1])
    dist.all_reduce(bad)
    return total, bad.item() == 0
