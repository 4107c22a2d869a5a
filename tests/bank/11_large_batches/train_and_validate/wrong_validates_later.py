# verdict: wrong, diagnosis: validates_later
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    for k in range(steps):
        step(k)
    counts = torch.tensor([correct(rank * n // p, (rank + 1) * n // p) for _ in range(steps // every)])
    dist.all_reduce(counts)
    return [count / n for count in counts.tolist()]
