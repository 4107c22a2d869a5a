# verdict: wrong, diagnosis: leaves_out_missing_classes
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    matrix = torch.bincount(labels * classes + predicted, minlength=classes**2)
    dist.all_reduce(matrix)
    matrix = matrix.view(classes, classes)
    there, both = matrix.sum(1) > 0, (matrix.sum(0) + matrix.sum(1)).double()
    return (2 * matrix.diag() / both)[there].mean().item()
