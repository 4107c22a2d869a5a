# verdict: wrong, diagnosis: one_pass_of_padding
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    padding = (len(labels) * p - n) % n
    places = torch.arange(len(labels)) * p + rank
    correct = ((predictions == labels) & (places < len(labels) * p - padding)).sum()
    dist.all_reduce(correct)
    return correct.item() / n
