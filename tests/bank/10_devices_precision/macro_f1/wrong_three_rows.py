# verdict: wrong, diagnosis: too_many_bytes
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    hit = predicted == labels
    rows = [labels[hit], predicted[~hit], labels[~hit]]
    counts = torch.stack([torch.bincount(row, minlength=classes) for row in rows])
    dist.all_reduce(counts)
    tp, fp, fn = counts.double()
    return float((2 * tp / (2 * tp + fp + fn).clamp(min=1)).mean())
