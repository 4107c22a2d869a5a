# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    present = torch.tensor(float(len(losses) > 0))
    means = torch.stack([losses.mean(), correct.float().mean()]) if len(losses) else torch.zeros(2)
    dist.all_reduce(means)
    dist.all_reduce(present)
    return tuple((means / present).tolist())
