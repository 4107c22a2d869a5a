# verdict: wrong, diagnosis: divided_twice
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    return F.cross_entropy(outputs, labels) * dist.get_world_size() / total
