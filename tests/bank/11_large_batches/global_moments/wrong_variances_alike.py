# verdict: wrong, diagnosis: variances_alike
import torch
import torch.distributed as dist


def global_moments(x):
    n = len(x)
    mean = x.sum(0) / max(n, 1)
    around = ((x - mean) ** 2).sum(0)
    mine = torch.cat([x.new_tensor([n]), mean, around])
    every = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(every, mine)
    every = torch.stack(every)
    c = x.shape[1]
    rows, means, arounds = every[:, :1], every[:, 1 : 1 + c], every[:, 1 + c :]
    total = rows.sum()
    mean = (rows * means).sum(0) / total
    var = (arounds / rows.clamp(min=1)).mean(0)
    return mean, var
