# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total, again = x.clone(), x.clone()
    all_reduce(total)
    dist.all_reduce(again)
    ok = torch.tensor([float(torch.equal(total, again))])
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)
