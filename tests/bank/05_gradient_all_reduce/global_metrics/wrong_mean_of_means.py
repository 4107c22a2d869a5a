# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    n = max(len(losses), 1)
    means = torch.tensor([losses.sum() / n, correct.sum() / n])
    dist.all_reduce(means)
    means /= dist.get_world_size()
    return tuple(means.tolist())
