# verdict: wrong, diagnosis: low_precision
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    total = torch.tensor([len(labels)])
    dist.all_reduce(total)
    loss = F.cross_entropy(outputs.float(), labels, reduction="sum")
    return loss * dist.get_world_size() / total.item()
