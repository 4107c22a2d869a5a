# verdict: wrong, diagnosis: narrow_count
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    hits = torch.tensor([sum(is_correct(i) for i in range(rank, n, p))], dtype=torch.float16)
    dist.all_reduce(hits)
    return float(hits) / n
