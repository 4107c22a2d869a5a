# verdict: wrong, diagnosis: rank_0_share
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    count = torch.tensor(len(labels))
    dist.broadcast(count, src=0)
    return F.cross_entropy(outputs, labels, reduction="sum") / count
