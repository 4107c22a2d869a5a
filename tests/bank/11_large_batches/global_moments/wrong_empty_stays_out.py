# verdict: hung, diagnosis: missing_rank
import torch
import torch.distributed as dist


def global_moments(x):
    if len(x) == 0:
        return x.new_zeros(x.shape[1]), x.new_zeros(x.shape[1])
    own = torch.cat([x.new_tensor([len(x)]), x.mean(0), x.var(0, unbiased=False)])
    every = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(every, own)
    rows, means, variances = torch.stack(every).split([1, x.shape[1], x.shape[1]], dim=1)
    mean = (rows * means).sum(0) / rows.sum()
    return mean, (rows * (variances + (means - mean) ** 2)).sum(0) / rows.sum()
