# verdict: passed
import itertools

import torch


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = range(n)
    if shuffle:
        with torch.random.fork_rng():
            torch.manual_seed(seed + epoch)
            order = torch.randperm(n).tolist()
    total = n - n % world_size if drop_last else n + -n % world_size
    return list(itertools.islice(itertools.cycle(order), rank, total, world_size))
