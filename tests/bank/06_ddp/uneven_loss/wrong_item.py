# verdict: wrong, diagnosis: cut_from_graph
import torch
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor(len(labels))
    dist.all_reduce(total)
    loss = F.cross_entropy(outputs, labels, reduction="sum").item()
    return torch.tensor(loss * dist.get_world_size() / total)
