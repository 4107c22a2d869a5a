# verdict: wrong, diagnosis: one_big_batch
import torch
from torch.nn import functional as F


def accumulate(ddp, micro_batches):
    x = torch.cat([x for x, _ in micro_batches])
    y = torch.cat([y for _, y in micro_batches])
    F.cross_entropy(ddp(x), y).backward()
