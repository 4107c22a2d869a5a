# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    if len(labels) == 0:
        return torch.zeros((), requires_grad=True)
    return F.cross_entropy(outputs, labels) * len(labels) * dist.get_world_size() / n
