# verdict: wrong, diagnosis: uses_collective
import torch
import torch.distributed as dist


def ring_pass(x):
    rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x)
    return torch.stack(rows)
