# verdict: wrong, diagnosis: counts_wrap
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    places = rank + p * torch.arange(len(indices))
    correct = ((predictions == labels) & (places < n)).sum().to(torch.int16)
    dist.all_reduce(correct)
    return correct.item() / n
