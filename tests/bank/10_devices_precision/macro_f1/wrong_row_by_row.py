# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    total = 0.0
    for k in range(classes):
        p, t = predicted == k, labels == k
        counts = torch.tensor([(p & t).sum(), p.sum() + t.sum()])
        dist.all_reduce(counts)
        total += 2 * counts[0].item() / max(1, counts[1].item())
    return total / classes
