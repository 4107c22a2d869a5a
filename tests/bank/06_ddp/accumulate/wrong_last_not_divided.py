# verdict: wrong, diagnosis: last_not_divided
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    x, y = micro_batches[-1]
    F.cross_entropy(ddp(x), y).backward()
