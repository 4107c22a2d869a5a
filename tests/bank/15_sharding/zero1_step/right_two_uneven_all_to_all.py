# verdict: passed
# differs: Without padding nothing travels but what is needed: each rank's part of the gradients goes to it, and its new weights to the others.
import torch
import torch.distributed as dist


def adam(w, g, m, v, t, lr):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    w.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))


def zero1_step(w, g, m, v, t, lr):
    r, p, k, n = dist.get_rank(), dist.get_world_size(), len(m), len(w)
    sizes = [max(0, min(k, n - q * k)) for q in range(p)]
    own = sizes[r]

    parts = g.new_empty(p * own)
    dist.all_to_all_single(parts, g, [own] * p, sizes)
    mean = g.new_zeros(k)
    mean[:own] = parts.view(p, own).mean(0) if own else 0
    part = w.new_zeros(k)
    part[:own] = w[r * k : r * k + own]
    adam(part, mean, m, v, t, lr)

    whole = w.new_empty(n)
    dist.all_to_all_single(whole, part[:own].repeat(p), sizes, [own] * p)
    return whole
