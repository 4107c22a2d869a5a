# verdict: wrong, diagnosis: one_outer_step_too_many
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, v = w.clone(), torch.zeros_like(w)
    local = start.clone()

    def outer(start, v, local):
        dist.all_reduce(local, op=dist.ReduceOp.AVG)
        delta = start - local
        v = mu * v + delta
        return start - outer_lr * (delta + mu * v), v

    for k in range(1, steps + 1):
        local -= lr * gradient(local)
        if k % every == 0:
            start, v = outer(start, v, local)
            local = start.clone()
    return outer(start, v, local)[0]
