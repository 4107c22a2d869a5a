# verdict: raised, diagnosis: IndexError
import math

import torch
import torch.distributed as dist


def exact_accuracy(n, is_correct):
    rank, p = dist.get_rank(), dist.get_world_size()
    size = math.ceil(n / p)
    correct = torch.tensor(float(sum(is_correct(i) for i in range(rank * size, (rank + 1) * size))))
    dist.all_reduce(correct)
    return correct.item() / n
