# verdict: wrong, diagnosis: skips_the_rest
import torch
import torch.distributed as dist


def diloco(w, gradient, steps, every, lr, outer_lr, mu):
    start, velocity = w.clone(), torch.zeros_like(w)
    for _ in range(steps // every):
        local = start.clone()
        for _ in range(every):
            local = local - lr * gradient(local)
        delta = start - local
        dist.all_reduce(delta)
        delta /= dist.get_world_size()
        velocity = mu * velocity + delta
        start = start - outer_lr * (delta + mu * velocity)
    return start
