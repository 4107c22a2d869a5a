# verdict: wrong, diagnosis: last_only
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    for i, (x, y) in enumerate(micro_batches):
        ddp.zero_grad()
        F.cross_entropy(ddp(x), y).backward()
