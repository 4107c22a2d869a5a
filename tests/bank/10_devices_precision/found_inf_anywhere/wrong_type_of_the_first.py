# verdict: wrong, diagnosis: overflows_itself
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    numbers = torch.cat([g.flatten().to(grads[0].dtype) for g in grads]) if grads else torch.zeros(1)
    bad = not torch.isfinite(numbers).all()
    flag = torch.tensor([float(bad)])
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag.item())
