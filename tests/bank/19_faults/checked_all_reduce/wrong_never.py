# verdict: wrong, diagnosis: compares_after_the_sum
import torch
import torch.distributed as dist


def checked_all_reduce(x, all_reduce):
    total = x.clone()
    all_reduce(total)
    return total, bool(torch.isfinite(total.sum() * 0 + 1)) or True
