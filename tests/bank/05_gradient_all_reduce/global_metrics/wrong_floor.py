# verdict: wrong, diagnosis: integers
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    loss, hits, n = losses.sum(), correct.sum(), torch.tensor(len(losses))
    for t in (loss, hits, n):
        dist.all_reduce(t)
    return loss / n, hits // n
