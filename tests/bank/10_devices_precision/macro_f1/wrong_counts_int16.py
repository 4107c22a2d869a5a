# verdict: wrong, diagnosis: counts_wrap
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2).to(torch.int16)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    return (2 * hits / both.clamp(min=1)).mean().item()
