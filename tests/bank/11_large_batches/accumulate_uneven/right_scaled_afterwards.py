# verdict: passed
import torch.distributed as dist


def accumulate_uneven(ddp, micro_batches, n):
    *first, (x, y) = micro_batches
    with ddp.no_sync():
        for a, b in first:
            (ddp(a) - b).square().sum().backward()
    (ddp(x) - y).square().sum().backward()
    for w in ddp.parameters():
        w.grad *= dist.get_world_size() / n
