# verdict: wrong, diagnosis: narrow_count
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    hits = torch.zeros(1, dtype=torch.uint8)
    for i in range(rank, n, p):
        hits += is_correct(i)
    dist.all_reduce(hits)
    return hits.item() / n
