# verdict: wrong, diagnosis: no_clipping
import torch


def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    g = half.grad.float() / scale
    if not torch.isfinite(g).all():
        return weights, True
    return weights - lr * g, False
