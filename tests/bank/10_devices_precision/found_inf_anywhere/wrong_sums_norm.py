# verdict: wrong, diagnosis: overflows_itself
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    total = sum((g.sum().abs() for g in grads), torch.zeros(()))
    total = total.float()
    dist.all_reduce(total)
    return not bool(total.isfinite())
