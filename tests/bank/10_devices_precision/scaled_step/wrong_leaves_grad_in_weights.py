# verdict: wrong, diagnosis: leaves_grad_in_weights
import torch


def scaled_step(weights, loss_of, scale, lr, max_norm):
    weights.requires_grad_()
    (loss_of(weights.half()) * scale).backward()
    gradient = weights.grad / scale
    with torch.no_grad():
        if not torch.isfinite(gradient).all():
            return weights, True
        gradient *= min(1.0, max_norm / float(gradient.norm() + 1e-30))
        return weights - lr * gradient, False
