# verdict: wrong, diagnosis: weights_changed
import contextlib

import torch
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    for k, (x, y) in enumerate(micro_batches):
        with ddp.no_sync() if k < len(micro_batches) - 1 else contextlib.nullcontext():
            (F.cross_entropy(ddp(x), y) / len(micro_batches)).backward()
    with torch.no_grad():
        for p in ddp.parameters():
            p -= 0.1 * p.grad
