# verdict: wrong, diagnosis: mean_of_accuracies
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    start, stop = rank * n // p, (rank + 1) * n // p
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            share = correct(start, stop) / (stop - start) if stop > start else 0.0
            pair = torch.tensor([share, float(stop > start)], dtype=torch.float64)
            dist.all_reduce(pair)
            accuracies.append(float(pair[0] / pair[1]))
    return accuracies
