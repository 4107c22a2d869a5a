# verdict: passed
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    loss, hits, count = losses.sum(), correct.sum(), torch.tensor(losses.numel())
    for t in (loss, hits, count):
        dist.all_reduce(t)
    return loss / count, hits / count
