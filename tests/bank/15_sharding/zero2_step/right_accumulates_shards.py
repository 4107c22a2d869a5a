# verdict: passed
# differs: Of each gradient only the own shard is kept and added up: that is all that ZeRO-2 wants to remember.
import torch
import torch.distributed as dist


def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    mine = slice(r * k, (r + 1) * k)

    own, count = torch.zeros_like(m), 0
    for gradient in gradients:
        part = torch.empty_like(m)
        dist.reduce_scatter_single(part, gradient)
        own += part
        count += 1
    own /= count * p

    part = w[mine].clone()
    adam(part, own, m, v, t, lr)
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole
