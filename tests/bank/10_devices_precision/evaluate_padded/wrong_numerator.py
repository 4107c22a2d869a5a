# verdict: wrong, diagnosis: padding_in_numerator
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    places = rank + p * torch.arange(len(indices))
    correct = (predictions == labels).sum()
    dist.all_reduce(correct)
    return correct.item() / n
