# verdict: wrong, diagnosis: scaled
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    return F.cross_entropy(outputs, labels, reduction="sum") * 4 / n
