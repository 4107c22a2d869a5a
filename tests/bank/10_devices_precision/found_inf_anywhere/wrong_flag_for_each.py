# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    flags = torch.zeros(2)
    for k, g in enumerate(grads):
        flags[k] = float(not g.isfinite().all())
    dist.all_reduce(flags[:1], op=dist.ReduceOp.MAX)
    dist.all_reduce(flags[1:], op=dist.ReduceOp.MAX)
    return bool(flags.any())
