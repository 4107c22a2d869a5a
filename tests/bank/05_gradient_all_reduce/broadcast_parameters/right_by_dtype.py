# verdict: passed
import collections

import torch
import torch.distributed as dist


def broadcast_parameters(model):
    groups = collections.defaultdict(list)
    for t in [*model.parameters(), *model.buffers()]:
        groups[t.dtype].append(t)
    for tensors in groups.values():
        flat = torch.cat([t.detach().reshape(-1) for t in tensors])
        dist.broadcast(flat, src=0)
        start = 0
        for t in tensors:
            t.data.copy_(flat[start : start + t.numel()].reshape(t.shape))
            start += t.numel()
