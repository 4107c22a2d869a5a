# verdict: wrong, diagnosis: other_denominator
import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler


def exact_accuracy(n, is_correct):
    correct = torch.tensor(float(sum(is_correct(i) for i in DistributedSampler(range(n), shuffle=False))))
    dist.all_reduce(correct)
    return correct.item() / n
