# verdict: wrong, diagnosis: narrow_type
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    s = torch.stack([losses.sum(), correct.sum().float(), torch.tensor(float(len(losses)))]).half()
    dist.all_reduce(s)
    return (s[0] / s[2]).item(), (s[1] / s[2]).item()
