# verdict: passed
import torch
import torch.distributed as dist


def tree_all_reduce(x):
    rank, p = dist.get_rank(), dist.get_world_size()
    children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < p]
    parent = (rank - 1) // 2
    total = x.clone()
    boxes = [torch.empty_like(x) for _ in children]
    requests = [dist.irecv(box, src=child) for box, child in zip(boxes, children)]
    for box, request in zip(boxes, requests):
        request.wait()
        total += box
    if rank != 0:
        dist.isend(total, parent).wait()
        dist.recv(total, parent)
    for child in children:
        dist.send(total, child)
    return total
