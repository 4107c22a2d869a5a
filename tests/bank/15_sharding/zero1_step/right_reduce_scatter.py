# verdict: passed
# differs: A reduce-scatter brings each rank its own part of the mean: half of what an all-reduce sends, and the rest is the gather of the weights.
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

    own = torch.empty_like(m)
    dist.reduce_scatter_single(own, torch.cat([g, pad]), op=dist.ReduceOp.AVG)
    whole = torch.cat([w, pad])
    part = whole[mine].clone()
    adam(part, own, m, v, t, lr)
    dist.all_gather_single(whole, part)
    return whole[:n]
