# verdict: wrong, diagnosis: counts_wrap
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    found = torch.zeros(1, dtype=torch.uint8)
    for gradient in grads:
        found += (~gradient.isfinite()).sum(dtype=torch.uint8)
    dist.all_reduce(found)
    return found.item() != 0
