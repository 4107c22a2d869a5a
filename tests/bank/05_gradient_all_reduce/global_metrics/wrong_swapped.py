# verdict: wrong, diagnosis: swapped
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[1] / sums[2]).item(), (sums[0] / sums[2]).item()
