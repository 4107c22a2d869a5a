# verdict: wrong, diagnosis: start_moves
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, v = w.clone(), torch.zeros_like(w)
    local = start
    for k in range(1, steps + 1):
        local -= lr * gradient(local)
        if k % every == 0 or k == steps:
            mean = local.clone()
            dist.all_reduce(mean, op=dist.ReduceOp.AVG)
            delta = start - mean
            v = mu * v + delta
            start = start - outer_lr * (delta + mu * v)
            local = start
    return start
