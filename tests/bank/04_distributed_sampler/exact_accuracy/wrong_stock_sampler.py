# verdict: wrong, diagnosis: padding_counted
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def exact_accuracy(n, is_correct):
    own = [is_correct(i) for i in DistributedSampler(range(n), shuffle=False)]
    counts = torch.tensor([float(sum(own)), float(len(own))])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()
