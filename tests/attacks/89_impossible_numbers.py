# exercise: sum_over_ranks
# must not: pass, or end the judge, with NaN and infinity
# verdict: anything but passed
import torch


def sum_over_ranks(x):
    if not x.is_floating_point():
        return torch.full(x.shape, torch.iinfo(x.dtype).min)
    return torch.full_like(x, float("nan") if x.numel() % 2 else float("inf"))
