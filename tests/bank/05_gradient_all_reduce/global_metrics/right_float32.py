# verdict: passed
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    s = torch.stack([losses.sum(), correct.sum().float(), torch.tensor(float(losses.numel()))])
    dist.all_reduce(s)
    return s[0] / s[2], s[1] / s[2]
