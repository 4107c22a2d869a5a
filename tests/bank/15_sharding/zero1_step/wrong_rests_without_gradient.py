# verdict: wrong, diagnosis: gathers_stale_parameters
import torch
import torch.distributed as dist


def zero1_step(w, g, m, v, t, lr):
    p, r = dist.get_world_size(), dist.get_rank()
    n, k = len(w), len(m)
    g = g.clone()
    dist.all_reduce(g)
    g /= p
    pad = lambda x: torch.cat([x, x.new_zeros(k * p - n)])[r * k : (r + 1) * k].clone()
    mine, grad = pad(w), pad(g)
    m.mul_(0.9).add_(grad, alpha=0.1)
    v.mul_(0.999).addcmul_(grad, grad, value=0.001)
    if grad.any():
        mine.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
    parts = [torch.empty_like(mine) for _ in range(p)]
    dist.all_gather(parts, mine)
    return torch.cat(parts)[:n]
