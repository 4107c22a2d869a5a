# verdict: wrong, diagnosis: averages_only
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    p = dist.get_world_size()
    w = w.clone()
    for step in range(1, steps + 1):
        w -= lr * gradient(w)
        if step % every == 0 or step == steps:
            dist.all_reduce(w)
            w /= p
    return w
