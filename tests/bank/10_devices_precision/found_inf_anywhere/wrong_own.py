# verdict: wrong, diagnosis: skips_on_own_inf_only
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    own = any(not g.isfinite().all() for g in grads)
    flag = torch.tensor(float(own))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return own
