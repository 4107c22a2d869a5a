# verdict: wrong, diagnosis: scaled
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    return F.cross_entropy(outputs, labels, reduction="sum") * 2 / total
