# verdict: wrong, diagnosis: empty_is_nan
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    n = torch.tensor(float(len(losses)))
    total = n.clone()
    dist.all_reduce(total)
    means = torch.stack([losses.mean(), correct.float().mean()]) * n / total
    dist.all_reduce(means)
    return tuple(means.tolist())
