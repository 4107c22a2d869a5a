# verdict: wrong, diagnosis: unrecognised
import torch
import torch.distributed as dist


def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / (v / (1 - 0.999**t) + 1e-8).sqrt())


def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    pad = w.new_zeros(k * p - n)
    mine = slice(r * k, (r + 1) * k)

    g = torch.cat([g, pad])
    dist.all_reduce(g)
    part = torch.cat([w, pad])[mine].clone()
    adam(part, g[mine] / p, m, v, t, lr)
    whole = w.new_empty(k * p)
    dist.all_gather_single(whole, part)
    return whole[:n]
