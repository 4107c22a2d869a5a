# verdict: passed
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    count = torch.tensor([sum(is_correct(i) for i in range(rank, n, p))])
    counts = [torch.zeros_like(count) for _ in range(p)]
    dist.all_gather(counts, count)
    return torch.stack(counts).sum().item() / n
