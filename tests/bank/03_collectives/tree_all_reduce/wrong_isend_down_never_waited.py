# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < p]
    parent = (rank - 1) // 2
    total = x.clone()
    for child in children:
        box = torch.empty_like(x)
        dist.recv(box, src=child)
        total += box
    if rank != 0:
        dist.send(total, parent)
        dist.recv(total, parent)
    for child in children:
        dist.isend(total, child)
    return total
