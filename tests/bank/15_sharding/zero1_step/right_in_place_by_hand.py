# verdict: passed
import torch
import torch.distributed as dist


def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    pad = w.new_zeros(k * p - n)
    mine = slice(r * k, (r + 1) * k)

    g = torch.cat([g / p, pad])
    dist.all_reduce(g)
    part = torch.cat([w, pad])[mine].clone()
    own = g[mine]
    m.copy_(0.9 * m + 0.1 * own)
    v.copy_(0.999 * v + 0.001 * own**2)
    part -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
    parts = [torch.empty_like(part) for _ in range(p)]
    dist.all_gather(parts, part)
    w.copy_(torch.cat(parts)[:n])
    return w
