# verdict: wrong, diagnosis: scaled
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    n = round(n.item() / dist.get_world_size())
    return F.cross_entropy(outputs, labels, reduction="sum") / max(n, 1)
