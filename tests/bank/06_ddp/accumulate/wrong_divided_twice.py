# verdict: wrong, diagnosis: scaled
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            (F.cross_entropy(ddp(x), y) / k).backward()
    x, y = micro_batches[-1]
    (F.cross_entropy(ddp(x), y) / k).backward()
    for p in ddp.parameters():
        p.grad /= k
