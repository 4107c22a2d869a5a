# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    p = dist.get_world_size()
    start, velocity = w.clone(), torch.zeros_like(w)
    for step in range(1, steps + 1):
        w -= lr * gradient(w)
        if step % every == 0 or step == steps:
            delta = start - w
            dist.all_reduce(delta)
            delta /= p
            velocity = mu * velocity + delta
            start -= outer_lr * (delta + mu * velocity)
            w = start.clone()
    return start
