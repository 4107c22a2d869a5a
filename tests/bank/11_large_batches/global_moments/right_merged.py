# verdict: passed
# differs: The moments of the ranks are merged one after the other by Chan's formula: accurate also where the mean is large.
import torch
import torch.distributed as dist


def global_moments(x):
    c = x.shape[1]
    mine = torch.zeros(2 * c + 1, dtype=torch.float64)
    if len(x):
        mine[0] = len(x)
        var, mean = torch.var_mean(x, 0, correction=0)
        mine[1 : c + 1], mine[c + 1 :] = mean, var * len(x)
    p = dist.get_world_size()
    table = torch.empty(p * (2 * c + 1), dtype=torch.float64)
    dist.all_gather_into_tensor(table, mine)
    n, mean, m2 = 0, torch.zeros(c, dtype=torch.float64), torch.zeros(c, dtype=torch.float64)
    for row in table.view(p, -1):
        k = int(row[0])
        if k == 0:
            continue
        delta = row[1 : c + 1] - mean
        mean = mean + delta * k / (n + k)
        m2 = m2 + row[c + 1 :] + delta**2 * n * k / (n + k)
        n += k
    return mean, m2 / n
