# verdict: passed
import torch
import torch.distributed as dist


def global_moments(x):
    p, rank, c = dist.get_world_size(), dist.get_rank(), x.shape[1]
    table = x.new_zeros(p, 2 * c + 1)
    if len(x):
        table[rank, 0] = len(x)
        table[rank, 1 : c + 1] = x.mean(0)
        table[rank, c + 1 :] = x.var(0, unbiased=False) * len(x)
    dist.all_reduce(table)
    n, mean, around = x.new_zeros(()), x.new_zeros(c), x.new_zeros(c)
    for row in table:
        if row[0] == 0:
            continue
        both = n + row[0]
        delta = row[1 : c + 1] - mean
        mean = mean + delta * row[0] / both
        around = around + row[c + 1 :] + delta**2 * n * row[0] / both
        n = both
    return mean, around / n
