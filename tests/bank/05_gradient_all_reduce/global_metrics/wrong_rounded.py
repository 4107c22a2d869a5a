# verdict: wrong, diagnosis: narrow_type
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    s = torch.tensor([losses.sum(), correct.sum(), len(losses)], dtype=torch.float64)
    dist.all_reduce(s)
    return round((s[0] / s[2]).item(), 3), round((s[1] / s[2]).item(), 3)
