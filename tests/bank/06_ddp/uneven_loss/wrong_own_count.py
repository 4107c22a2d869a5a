# verdict: wrong, diagnosis: times_world_size
import torch.distributed as dist
from torch.nn import functional as F


def uneven_loss(outputs, labels):
    return F.cross_entropy(outputs, labels) * dist.get_world_size()
