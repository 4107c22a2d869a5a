# verdict: wrong, diagnosis: misses_nan
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    largest = torch.tensor(max([float(g.abs().max()) for g in grads] or [0.0]))
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return not bool(largest.isfinite())
