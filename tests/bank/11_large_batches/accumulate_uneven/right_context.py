# verdict: passed
from contextlib import nullcontext

import torch.distributed as dist
from torch.nn.functional import mse_loss


def accumulate_uneven(ddp, micro_batches, n):
    for k, (x, y) in enumerate(micro_batches):
        with nullcontext() if k == len(micro_batches) - 1 else ddp.no_sync():
            loss = mse_loss(ddp(x), y, reduction="sum") / n * dist.get_world_size()
            loss.backward()
