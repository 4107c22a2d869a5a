# verdict: wrong, diagnosis: too_many_collectives
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    share = -(-n // p)
    start, stop = min(n, rank * share), min(n, (rank + 1) * share)
    accuracies = []
    for k in range(1, steps + 1):
        step(k - 1)
        if k % every:
            continue
        mine = correct(start, stop) if start < stop else 0
        counts = [None] * p
        dist.all_gather_object(counts, mine)
        accuracies.append(sum(counts) / n)
    return accuracies
