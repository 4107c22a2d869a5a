# verdict: wrong, diagnosis: rank_0_alone
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    accuracies = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            number = torch.zeros(1, dtype=torch.float64)
            if dist.get_rank() == 0:
                number += correct(0, n) / n
            dist.broadcast(number, 0)
            accuracies.append(float(number))
    return accuracies
