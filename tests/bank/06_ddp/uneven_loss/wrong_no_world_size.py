# verdict: wrong, diagnosis: world_size_missing
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    return F.cross_entropy(outputs, labels, reduction="sum") / total
