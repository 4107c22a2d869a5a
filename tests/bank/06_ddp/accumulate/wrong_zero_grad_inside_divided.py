# verdict: wrong, diagnosis: last_only_divided
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    for x, y in micro_batches:
        ddp.zero_grad()
        (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
