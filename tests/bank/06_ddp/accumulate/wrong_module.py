# verdict: wrong, diagnosis: own_gradient
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    for x, y in micro_batches:
        (F.cross_entropy(ddp.module(x), y) / len(micro_batches)).backward()
