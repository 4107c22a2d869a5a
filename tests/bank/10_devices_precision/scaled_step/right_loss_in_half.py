# verdict: passed
import torch


def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).half().backward()
    g = half.grad.float() / scale
    if not torch.isfinite(g).all():
        return weights, True
    norm = g.norm()
    if norm > max_norm:
        g = g * (max_norm / norm)
    return weights - lr * g, False
