# verdict: passed
# differs: The single losses and hits travel, pickled, and are averaged at the end: simple, and far more bytes than three sums.
import numpy as np
import torch.distributed as dist


def global_metrics(losses, correct):
    box = [None] * dist.get_world_size()
    dist.all_gather_object(box, (losses.tolist(), correct.tolist()))
    l = np.concatenate([b[0] for b in box])
    c = np.concatenate([b[1] for b in box])
    return l.mean(), c.mean()
