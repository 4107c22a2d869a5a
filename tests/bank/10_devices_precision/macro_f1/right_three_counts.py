# verdict: passed
# differs: Three counts for each class in place of the whole matrix: all that F1 needs.
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    counts = torch.zeros(classes, 3)
    for k in range(classes):
        p, t = predicted == k, labels == k
        counts[k] = torch.stack([(p & t).sum(), (p & ~t).sum(), (~p & t).sum()])
    dist.all_reduce(counts)
    total = 0.0
    for tp, fp, fn in counts.tolist():
        total += 2 * tp / (2 * tp + fp + fn) if tp else 0.0
    return total / classes
