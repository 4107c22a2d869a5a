# verdict: wrong, diagnosis: own_only
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[0] / sums[1]).item(), correct.sum().item() / max(len(correct), 1)
