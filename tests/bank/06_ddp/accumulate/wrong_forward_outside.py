# verdict: wrong, diagnosis: synchronises_every_time
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        loss = F.cross_entropy(ddp(x), y) / k
        if i < k - 1:
            with ddp.no_sync():
                loss.backward()
        else:
            loss.backward()
