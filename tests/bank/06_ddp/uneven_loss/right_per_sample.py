# verdict: passed
# differs: Every sample gets its weight, world_size over all samples, and the sum of them is the loss.
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, labels.shape[0])
    each = F.cross_entropy(outputs, labels, reduction="none")
    return (each * (len(counts) / sum(counts))).sum()
