# verdict: wrong, diagnosis: overflows_itself
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    total = torch.tensor(sum(float(g.float().sum()) for g in grads), dtype=torch.float32)
    dist.all_reduce(total)
    return not bool(total.isfinite())
