# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    if len(losses) == 0:
        return 0.0, 0.0
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)])
    dist.all_reduce(sums)
    return (sums[0] / sums[2]).item(), (sums[1] / sums[2]).item()
