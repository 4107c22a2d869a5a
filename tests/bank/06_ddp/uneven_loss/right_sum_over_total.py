# verdict: passed
# differs: The sum of the losses, times the number of ranks, over the number of all samples: DDP's own division is undone.
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
