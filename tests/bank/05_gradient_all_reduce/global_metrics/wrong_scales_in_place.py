# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def global_metrics(losses, correct):
    count = torch.tensor(float(len(losses)))
    dist.all_reduce(count)
    losses /= count
    correct = correct / count
    both = torch.stack([losses.sum(), correct.sum()])
    dist.all_reduce(both)
    return tuple(both.tolist())
