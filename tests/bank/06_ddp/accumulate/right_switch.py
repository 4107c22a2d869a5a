# verdict: passed
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    with ddp.no_sync():
        for x, y in micro_batches[:-1]:
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    ddp.require_backward_grad_sync = True
    x, y = micro_batches[-1]
    (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
