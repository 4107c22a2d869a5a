# verdict: wrong, diagnosis: misses_minus_infinity
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    own = any(g.isnan().any() or (g == float("inf")).any() for g in grads)
    flag = torch.tensor(float(own))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)
