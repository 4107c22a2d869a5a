# verdict: passed
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    found = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            count = torch.tensor(sum(correct(i, i + 1) for i in range(rank, n, p)))
            dist.all_reduce(count)
            found.append(count / n)
    return [float(one) for one in found]
