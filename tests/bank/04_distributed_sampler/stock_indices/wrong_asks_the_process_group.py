# verdict: raised, diagnosis: ValueError
import torch
import torch.distributed as dist


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))
    return order[dist.get_rank() :: dist.get_world_size()]
