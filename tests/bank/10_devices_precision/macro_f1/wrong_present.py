# verdict: wrong, diagnosis: leaves_out_missing_classes
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    each = torch.where(both > 0, 2 * hits / both, 0.0)
    return each[both > 0].mean().item()
