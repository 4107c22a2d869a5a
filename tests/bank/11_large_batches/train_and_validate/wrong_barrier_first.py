# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    start, stop = rank * n // p, (rank + 1) * n // p
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            dist.barrier()
            count = torch.tensor([correct(start, stop)])
            dist.all_reduce(count)
            accuracies.append(count.item() / n)
    return accuracies
