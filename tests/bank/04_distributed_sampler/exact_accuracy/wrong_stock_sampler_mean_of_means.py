# verdict: wrong, diagnosis: padding_counted
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def exact_accuracy(n, is_correct):
    own = torch.tensor([float(is_correct(i)) for i in DistributedSampler(range(n), shuffle=False)], dtype=torch.float64)
    mean = own.mean()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()
