# verdict: wrong, diagnosis: counts_padding
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    places = rank + p * torch.arange(len(indices))
    correct = (predictions == labels).sum()
    count = torch.tensor(len(labels))
    dist.all_reduce(correct)
    dist.all_reduce(count)
    return correct.item() / count.item()
