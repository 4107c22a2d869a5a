# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist


def exchange(x, partner):
    rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return rows[partner]
