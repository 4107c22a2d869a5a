# verdict: wrong, diagnosis: averages_f1
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    counts = torch.bincount(labels * classes + predicted, minlength=classes**2)
    matrix = counts.view(classes, classes).double()
    hits, both = matrix.diag(), matrix.sum(0) + matrix.sum(1)
    each = torch.where(both > 0, 2 * hits / both, 0.0)
    mean = each.mean()
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()
