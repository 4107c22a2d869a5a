# verdict: wrong, diagnosis: cut_from_graph
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(len(labels))
    dist.all_reduce(n)
    outputs = outputs.detach().requires_grad_()
    return F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / n
