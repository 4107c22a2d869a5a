# verdict: wrong, diagnosis: overflows_itself
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    bad = any(not bool((g.abs() < torch.finfo(g.dtype).max).all()) for g in grads)
    flag = torch.tensor([float(bad)])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())
