# verdict: wrong, diagnosis: moves_too_much
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

    g = torch.cat([g, pad])
    dist.all_reduce(g)
    whole = torch.cat([w, pad])
    ms, vs = torch.empty_like(g), torch.empty_like(g)
    dist.all_gather_single(ms, m)
    dist.all_gather_single(vs, v)
    adam(whole, g / p, ms, vs, t, lr)
    m.copy_(ms[mine])
    v.copy_(vs[mine])
    return whole[:n]
