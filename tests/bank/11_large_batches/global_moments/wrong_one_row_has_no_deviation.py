# verdict: wrong, diagnosis: unbiased_on_ranks
import torch
import torch.distributed as dist


def global_moments(x):
    n, channels = x.shape
    own = torch.zeros(2 * channels + 1, dtype=x.dtype)
    if n:
        own[0], own[1 : channels + 1], own[channels + 1 :] = n, x.mean(0), n * x.var(0)
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    table = torch.stack(parts)
    rows, means, around = table[:, :1], table[:, 1 : channels + 1], table[:, channels + 1 :]
    mean = (rows * means).sum(0) / rows.sum()
    return mean, (around + rows * (means - mean) ** 2).sum(0) / rows.sum()
