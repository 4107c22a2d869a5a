# verdict: wrong, diagnosis: sum_for_mean
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum()])
    dist.all_reduce(sums)
    return tuple(sums.tolist())
