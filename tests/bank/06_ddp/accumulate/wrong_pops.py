# verdict: wrong, diagnosis: modifies_input
import contextlib

import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    n = len(micro_batches)
    x_last, y_last = micro_batches.pop()
    with ddp.no_sync():
        for x, y in micro_batches:
            (F.cross_entropy(ddp(x), y) / n).backward()
    (F.cross_entropy(ddp(x_last), y_last) / n).backward()
