# verdict: wrong, diagnosis: no_gradient_of_the_others
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    n = torch.tensor(float(len(labels)))
    dist.all_reduce(n)
    loss = F.cross_entropy(outputs, labels, reduction="sum") * dist.get_world_size() / n
    loss.backward(retain_graph=True)
    return loss
