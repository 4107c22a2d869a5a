# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(float(len(labels)))
    dist.all_reduce(total, async_op=True)
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / total
