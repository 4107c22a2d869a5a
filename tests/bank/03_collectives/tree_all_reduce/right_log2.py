# verdict: passed
import torch
import torch.distributed as dist


import math


def tree_all_reduce(x):
    me, p = dist.get_rank(), dist.get_world_size()
    steps = math.ceil(math.log2(p))
    acc = x.detach().clone()
    buf = torch.zeros_like(acc)
    for k in range(steps):
        if me % 2**k == 0:
            if (me >> k) & 1:
                dist.isend(acc, me - 2**k).wait()
            elif me + 2**k < p:
                dist.irecv(buf, me + 2**k).wait()
                acc.add_(buf)
    for k in reversed(range(steps)):
        if me % 2**k == 0:
            if (me >> k) & 1:
                dist.recv(acc, me - 2**k)
            elif me + 2**k < p:
                dist.send(acc, me + 2**k)
    return acc
