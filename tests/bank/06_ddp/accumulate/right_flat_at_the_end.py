# verdict: passed
import torch
import torch.distributed as dist
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches:
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    ps = list(ddp.parameters())
    flat = torch.cat([p.grad.reshape(-1) for p in ps])
    dist.all_reduce(flat, op=dist.ReduceOp.AVG)
    for p, piece in zip(ps, flat.split([p.numel() for p in ps])):
        p.grad.copy_(piece.view_as(p))
