# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    import torch.distributed._functional_collectives as fc

    p = dist.get_world_size()
    got = fc.wait_tensor(fc.reduce_scatter_tensor(torch.cat([x.reshape(-1)] * p), "sum", 0, dist.group.WORLD))
    return got.reshape(x.shape)
