# verdict: wrong, diagnosis: cut_from_graph
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(len(labels))
    dist.all_reduce(n)
    s = F.cross_entropy(outputs, labels, reduction="sum")
    return s * 0 + (s * dist.get_world_size() / n).data
