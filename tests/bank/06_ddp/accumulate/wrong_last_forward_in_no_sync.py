# verdict: wrong, diagnosis: own_gradient
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        with ddp.no_sync():
            loss = F.cross_entropy(ddp(x), y) / k
            if i < k - 1:
                loss.backward()
    loss.backward()
