# verdict: wrong, diagnosis: divided_by_own_count
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    sums = torch.stack([losses.sum(), correct.float().sum()])
    dist.all_reduce(sums)
    return tuple((sums / len(losses)).tolist())
