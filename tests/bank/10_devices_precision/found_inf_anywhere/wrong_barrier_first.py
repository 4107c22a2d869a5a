# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    own = any(not g.isfinite().all() for g in grads)
    dist.barrier()
    flag = torch.tensor(float(own))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)
