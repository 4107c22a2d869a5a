# verdict: wrong, diagnosis: largest_share
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    most = torch.tensor(len(labels))
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    return F.cross_entropy(outputs, labels, reduction="sum") / most
