# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    p = dist.get_world_size()
    out = torch.cat([x.reshape(-1)] * p)
    got = torch.empty_like(x).reshape(-1)
    dist.reduce_scatter_tensor(got, out)
    return got.reshape(x.shape)
