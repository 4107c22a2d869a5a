# verdict: wrong, diagnosis: overflows_itself
import torch


def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    if not torch.isfinite(half.grad.sum()):
        return weights, True
    gradient = half.grad.float() / scale
    norm = gradient.norm()
    if norm > max_norm:
        gradient *= max_norm / norm
    return weights - lr * gradient, False
