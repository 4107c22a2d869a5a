# verdict: wrong, diagnosis: overflows_itself
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    bad = torch.tensor(float(any(not g.half().isfinite().all() for g in grads)))
    dist.all_reduce(bad, op=dist.ReduceOp.MAX)
    return bool(bad)
