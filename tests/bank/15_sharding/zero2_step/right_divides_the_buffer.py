# verdict: passed
import torch
import torch.distributed as dist


def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    parts = []
    for g in gradients:
        g.div_(p)
        parts.append(torch.empty_like(m))
        dist.reduce_scatter_single(parts[-1], g)
    own = sum(parts) / len(parts)

    part = w[mine].clone()
    adam(part, own, m, v, t, lr)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole
