# verdict: wrong, diagnosis: running_sum
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    e = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(e, x)
    return sum(e[: dist.get_rank() + 1])
