# verdict: passed
import torch.distributed as dist
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches:
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    for p in ddp.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
