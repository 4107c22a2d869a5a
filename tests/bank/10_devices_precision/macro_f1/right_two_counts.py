# verdict: passed
import torch
import torch.distributed as dist


def macro_f1(predicted, labels, classes):
    hit = predicted == labels
    counts = torch.zeros(2, classes)
    for k in range(classes):
        counts[0, k] = (hit & (labels == k)).sum()
        counts[1, k] = (~hit & (labels == k)).sum() + (~hit & (predicted == k)).sum()
    dist.all_reduce(counts)
    hits, misses = counts.double()
    return float((2 * hits / (2 * hits + misses).clamp(min=1)).mean())
