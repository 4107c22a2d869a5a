# verdict: passed
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    count = len(labels)
    if count == 0:
        return outputs.sum()
    return F.cross_entropy(outputs, labels) * count * dist.get_world_size() / total.item()
