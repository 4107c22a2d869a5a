# verdict: wrong, diagnosis: graphs_kept
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    with ddp.no_sync():
        losses = [F.cross_entropy(ddp(x), y) / k for x, y in micro_batches[:-1]]
        for loss in losses:
            loss.backward()
    x, y = micro_batches[-1]
    (F.cross_entropy(ddp(x), y) / k).backward()
