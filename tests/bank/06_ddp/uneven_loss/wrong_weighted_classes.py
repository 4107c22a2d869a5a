# verdict: wrong, diagnosis: other_gradient
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    weight = torch.ones(outputs.shape[1], dtype=outputs.dtype)
    weight[0] = 2
    return F.cross_entropy(outputs, labels, weight=weight, reduction="sum") * dist.get_world_size() / n
