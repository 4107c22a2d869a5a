# verdict: wrong, diagnosis: unfair
import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    size = n // p
    stop = n if rank == p - 1 else (rank + 1) * size
    correct = torch.tensor(float(sum(is_correct(i) for i in range(rank * size, stop))))
    dist.all_reduce(correct)
    return correct.item() / n
