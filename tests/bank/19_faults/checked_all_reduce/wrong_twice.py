# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total, again, magnitudes = x.clone(), x.clone(), x.abs()
    all_reduce(total)
    dist.all_reduce(again)
    dist.all_reduce(magnitudes)
    ok = torch.tensor([float((total - again).abs().sum() <= 1e-10 * magnitudes.sum())])
    dist.all_reduce(ok, op=dist.ReduceOp.MIN)
    return total, bool(ok)
