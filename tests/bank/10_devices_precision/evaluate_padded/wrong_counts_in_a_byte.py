# verdict: wrong, diagnosis: counts_wrap
import torch
import torch.distributed as dist


def evaluate_padded(predictions, labels, indices, n):
    mine = len(range(dist.get_rank(), n, dist.get_world_size()))
    right = (predictions[:mine] == labels[:mine]).sum(dtype=torch.uint8)
    dist.all_reduce(right)
    return right.item() / n
