# verdict: wrong, diagnosis: in_blocks
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    first = dist.get_rank() * len(labels)
    places = first + torch.arange(len(labels))
    correct = ((predictions == labels) & (places < n)).sum()
    dist.all_reduce(correct)
    return correct.item() / n
