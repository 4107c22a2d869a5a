# verdict: wrong, diagnosis: before_its_step
import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    out = []
    for k in range(steps):
        if (k + 1) % every == 0:
            c = torch.tensor(correct(rank * n // p, (rank + 1) * n // p))
            dist.all_reduce(c)
            out.append(c.item() / n)
        step(k)
    return out
