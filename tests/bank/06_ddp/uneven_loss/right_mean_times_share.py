# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor([labels.numel()])
    dist.all_reduce(n)
    if not len(labels):
        return outputs.sum() * 0
    return F.cross_entropy(outputs, labels) * (len(labels) * dist.get_world_size() / n.item())
