# verdict: wrong, diagnosis: before_the_step
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    accuracies = []
    for k in range(steps):
        if k % every == 0:
            count = torch.tensor([correct(rank * n // p, (rank + 1) * n // p)])
            dist.all_reduce(count)
            accuracies.append(count.item() / n)
        step(k)
    return accuracies
