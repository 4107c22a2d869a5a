# verdict: wrong, diagnosis: digits_cancel
import torch
import torch.distributed as dist


def global_moments(x):
    rows, channels = x.shape
    mean = x.mean(0) if rows else x.new_zeros(channels)
    mine = torch.cat([x.new_tensor([rows]), mean, ((x - mean) ** 2).sum(0)])
    everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, mine)
    n, means, around = torch.stack(everyone).split([1, channels, channels], dim=1)
    shift = means[0]
    mean = (n * means).sum(0) / n.sum()
    squares = (around + n * (means - shift) ** 2).sum(0) / n.sum()
    return mean, squares - (mean - shift) ** 2
