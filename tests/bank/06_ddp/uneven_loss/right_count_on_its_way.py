# verdict: passed
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(float(len(labels)))
    work = dist.all_reduce(total, async_op=True)
    loss = F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size()
    work.wait()
    return loss / total
