# verdict: wrong, diagnosis: f1_of_means
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(counts)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    precision = (hits / matrix.sum(0).clamp(min=1)).mean()
    recall = (hits / matrix.sum(1).clamp(min=1)).mean()
    return (2 * precision * recall / (precision + recall)).item()
