# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    if len(labels) == 0:
        return torch.tensor(0.0)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
