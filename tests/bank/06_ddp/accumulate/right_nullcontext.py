# verdict: passed
from contextlib import nullcontext

from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    ddp.zero_grad()
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with nullcontext() if last else ddp.no_sync():
            loss = F.cross_entropy(ddp(x), y) / len(micro_batches)
            loss.backward()
    return ddp
