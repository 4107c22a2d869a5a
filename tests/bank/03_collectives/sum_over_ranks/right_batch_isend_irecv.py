# verdict: passed
import torch
import torch.distributed as dist


def sum_over_ranks(x):
    p, r = dist.get_world_size(), dist.get_rank()
    boxes = [torch.empty_like(x) for _ in range(p)]
    ops = [dist.P2POp(dist.isend, x, q) for q in range(p) if q != r] + [
        dist.P2POp(dist.irecv, boxes[q], q) for q in range(p) if q != r
    ]
    for w in dist.batch_isend_irecv(ops):
        w.wait()
    total = x.clone()
    for q in range(p):
        if q != r:
            total += boxes[q]
    return total
