# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist
import torch.nn.functional as F


def uneven_loss(outputs, labels):
    return torch.nan_to_num(F.cross_entropy(outputs, labels))
