# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < p]
    parent = (rank - 1) // 2
    total = x.clone()
    box = torch.empty_like(x)
    for request in [dist.irecv(box, src=child) for child in children]:
        request.wait()
        total += box
    if rank != 0:
        dist.send(total, parent)
        dist.recv(total, parent)
    for child in children:
        dist.send(total, child)
    return total
