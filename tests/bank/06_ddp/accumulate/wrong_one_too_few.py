# verdict: wrong, diagnosis: one_too_few
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    k = len(micro_batches)
    for i, (x, y) in enumerate(micro_batches[:-1]):
        (F.cross_entropy(ddp(x), y) / k).backward()
    if k == 1:
        x, y = micro_batches[0]
        F.cross_entropy(ddp(x), y).backward()
