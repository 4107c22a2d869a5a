# verdict: wrong, diagnosis: integers
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    s = torch.tensor([int(losses.sum()), int(correct.sum()), len(losses)])
    dist.all_reduce(s)
    return (s[0] / s[2]).item(), (s[1] / s[2]).item()
