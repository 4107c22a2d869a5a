# verdict: wrong, diagnosis: reduce_to_one
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            count = torch.tensor(correct(rank * n // p, (rank + 1) * n // p))
            dist.reduce(count, 0)
            accuracies.append(count.item() / n)
    return accuracies
