# exercise: zero2_step
# must not: keep all micro-batches' whole gradients as bytes, and reduce them after the last one
# verdict: anything but passed
import torch
import torch.distributed as dist


def zero2_step(w, gradients, m, v, t, lr):
    r, p, k = dist.get_rank(), dist.get_world_size(), len(m)
    kept = [bytearray(gradient.numpy().tobytes()) for gradient in gradients]
    own = torch.zeros_like(m)
    for one in kept:
        part = torch.empty_like(m)
        dist.reduce_scatter_single(part, torch.frombuffer(one, dtype=w.dtype))
        own += part / (len(kept) * p)
    m.mul_(0.9).add_(own, alpha=0.1)
    v.mul_(0.999).addcmul_(own, own, value=0.001)
    part = w[r * k : (r + 1) * k].clone()
    part.sub_(lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8))
    whole = torch.empty_like(w)
    dist.all_gather_single(whole, part)
    return whole
