# verdict: wrong, diagnosis: synchronises_every_time
import torch
import torch.distributed as dist
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    p_ = dist.get_world_size()
    with ddp.no_sync():
        for x, y in micro_batches:
            before = [None if p.grad is None else p.grad.clone() for p in ddp.parameters()]
            ddp.zero_grad()
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
            for b, p in zip(before, ddp.parameters()):
                box = [torch.empty_like(p.grad) for _ in range(p_)]
                dist.all_gather(box, p.grad)
                p.grad = sum(box) / p_ + (0 if b is None else b)
