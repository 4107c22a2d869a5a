# verdict: wrong, diagnosis: scaled_by_a_loss
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    summed = F.cross_entropy(outputs, labels, reduction="sum")
    mean = summed.detach().clone()
    dist.all_reduce(mean)
    mean /= total
    return summed * (mean / summed.detach()) if len(labels) else summed
