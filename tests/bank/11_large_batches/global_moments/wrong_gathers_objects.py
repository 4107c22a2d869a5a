# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def global_moments(x):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, x.numpy())
    rows = torch.cat([torch.from_numpy(one) for one in every])
    return rows.mean(0), rows.var(0, unbiased=False)
