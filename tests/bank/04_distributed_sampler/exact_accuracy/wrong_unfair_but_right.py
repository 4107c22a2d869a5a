# verdict: wrong, diagnosis: unfair
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    k = -(-n // p)
    hits = torch.tensor([sum(is_correct(i) for i in range(min(n, rank * k), min(n, (rank + 1) * k)))])
    dist.all_reduce(hits)
    return hits.item() / n
