# verdict: raised, diagnosis: ValueError
import math

import torch
import torch.distributed as dist


def train_and_validate(step, correct, steps, every, n):
    rank, p = dist.get_rank(), dist.get_world_size()
    share = math.ceil(n / p)
    start = rank * share
    stop = min(n, start + share)
    out = []
    for k in range(steps):
        step(k)
        if (k + 1) % every == 0:
            c = torch.tensor(correct(start, stop))
            dist.all_reduce(c)
            out.append(c.item() / n)
    return out
