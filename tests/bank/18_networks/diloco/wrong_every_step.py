# verdict: wrong, diagnosis: averages_in_every_step
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    p = dist.get_world_size()
    start, velocity = w.clone(), torch.zeros_like(w)
    w = start.clone()
    for step in range(1, steps + 1):
        w -= lr * gradient(w)
        dist.all_reduce(w, op=dist.ReduceOp.AVG)
        if step % every == 0 or step == steps:
            delta = start - w
            dist.all_reduce(delta)
            delta /= p
            velocity = mu * velocity + delta
            start -= outer_lr * (delta + mu * velocity)
            w = start.clone()
    return start
