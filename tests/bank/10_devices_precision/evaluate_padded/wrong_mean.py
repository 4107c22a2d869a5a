# verdict: wrong, diagnosis: mean_of_means
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    mine = len(range(rank, n, p))
    right = (predictions == labels)[:mine].double()
    accuracy = right.mean() if mine else torch.zeros((), dtype=torch.float64)
    dist.all_reduce(accuracy)
    return accuracy.item() / p
