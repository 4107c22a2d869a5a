# verdict: wrong, diagnosis: rank_0_alone
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    start, stop = rank * n // p, (rank + 1) * n // p
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            count = torch.tensor([correct(0, n) if rank == 0 else 0])
            dist.all_reduce(count)
            accuracies.append(count.item() / n)
    return accuracies
