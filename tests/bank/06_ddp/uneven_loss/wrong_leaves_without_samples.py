# verdict: hung, diagnosis: mismatched_dtype
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    if len(labels) == 0:
        return outputs.sum() * 0
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / n
