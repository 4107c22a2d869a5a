# verdict: passed
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.tensor([losses.sum(), correct.sum(), len(losses)])
    dist.reduce(sums, dst=0)
    result = sums[:2] / sums[2]
    dist.broadcast(result, src=0)
    return tuple(result.tolist())
