# verdict: wrong, diagnosis: lengthens
import torch


def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    gradient = half.grad.float() / scale
    if not torch.isfinite(gradient).all():
        return weights.clone(), True
    gradient = gradient * max_norm / gradient.norm()
    return weights - lr * gradient, False
