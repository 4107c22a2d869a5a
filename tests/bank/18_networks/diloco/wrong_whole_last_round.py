# verdict: wrong, diagnosis: whole_last_round
import math

import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, v = w.clone(), torch.zeros_like(w)
    for _ in range(math.ceil(steps / every)):
        local = start.clone()
        for _ in range(every):
            local -= lr * gradient(local)
        dist.all_reduce(local, op=dist.ReduceOp.AVG)
        delta = start - local
        v = mu * v + delta
        start = start - outer_lr * (delta + mu * v)
    return start
