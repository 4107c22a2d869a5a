# verdict: wrong, diagnosis: whole_division
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    share = total // dist.get_world_size()
    return F.cross_entropy(outputs, labels, reduction="sum") / share
