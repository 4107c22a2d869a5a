# verdict: wrong, diagnosis: ranks_disagree
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    own = any(not g.isfinite().all() for g in grads)
    flag = torch.tensor(float(own))
    dist.reduce(flag, dst=0, op=dist.ReduceOp.MAX)
    return bool(flag)
