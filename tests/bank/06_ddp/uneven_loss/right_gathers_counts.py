# verdict: passed
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, len(labels))
    each = F.cross_entropy(outputs, labels, reduction="none")
    return each.sum() * len(counts) / sum(counts)
