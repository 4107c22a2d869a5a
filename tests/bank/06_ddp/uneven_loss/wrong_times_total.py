# verdict: wrong, diagnosis: times_total
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    summed = F.cross_entropy(outputs, labels, reduction="sum")
    return summed * total / dist.get_world_size()
