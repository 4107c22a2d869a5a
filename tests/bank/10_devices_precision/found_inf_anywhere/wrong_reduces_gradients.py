# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def found_inf_anywhere(grads):
    flat = torch.zeros(2**17)
    values = torch.cat([g.float().reshape(-1) for g in grads]) if grads else torch.zeros(0)
    flat[: len(values)] = torch.where(values.isfinite(), 0.0, 1.0)
    dist.all_reduce(flat)
    return bool(flat.any())
