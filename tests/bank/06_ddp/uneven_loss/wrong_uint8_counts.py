# verdict: wrong, diagnosis: count_overflows
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    count = torch.ones_like(labels, dtype=torch.uint8).sum(dtype=torch.uint8)
    dist.all_reduce(count)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / count
