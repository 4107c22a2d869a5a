# verdict: wrong, diagnosis: too_many_collectives
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    p = dist.get_world_size()
    start, velocity = w.clone(), torch.zeros_like(w)
    w = start.clone()
    for step in range(1, steps + 1):
        w -= lr * gradient(w)
        if step % every == 0 or step == steps:
            delta = start - w
            dist.reduce(delta, 0)
            dist.broadcast(delta, 0)
            delta /= p
            velocity = mu * velocity + delta
            start -= outer_lr * (delta + mu * velocity)
            w = start.clone()
    return start
