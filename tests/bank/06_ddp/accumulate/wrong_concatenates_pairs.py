# verdict: wrong, diagnosis: one_big_batch
import contextlib

import torch
import torch.nn.functional as F


def accumulate(ddp, micro_batches):
    pairs = [micro_batches[k : k + 2] for k in range(0, len(micro_batches), 2)]
    for k, pair in enumerate(pairs):
        x, y = torch.cat([b[0] for b in pair]), torch.cat([b[1] for b in pair])
        with ddp.no_sync() if k < len(pairs) - 1 else contextlib.nullcontext():
            (F.cross_entropy(ddp(x), y) * len(pair) / len(micro_batches)).backward()
