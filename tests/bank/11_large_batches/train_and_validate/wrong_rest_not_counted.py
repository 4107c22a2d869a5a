# verdict: wrong, diagnosis: rest_not_counted
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    share = n // p
    accuracies = []
    for k in range(steps):
        step(k)
        if k % every == every - 1:
            pair = torch.tensor([correct(rank * share, (rank + 1) * share), share])
            dist.all_reduce(pair)
            accuracies.append(float(pair[0] / pair[1]))
    return accuracies
