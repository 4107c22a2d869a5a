# verdict: wrong, diagnosis: graphs_kept
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    total = 0
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            total = total + F.cross_entropy(ddp(x), y)
    x, y = micro_batches[-1]
    total = total + F.cross_entropy(ddp(x), y)
    (total / len(micro_batches)).backward()
