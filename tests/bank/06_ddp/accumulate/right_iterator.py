# verdict: passed
import contextlib

import torch
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    *front, last = micro_batches
    scale = torch.tensor(1 / len(micro_batches), dtype=torch.float64)
    with ddp.no_sync():
        for x, y in front:
            F.cross_entropy(ddp(x), y).mul(scale).backward()
    F.cross_entropy(ddp(last[0]), last[1]).mul(scale).backward()
