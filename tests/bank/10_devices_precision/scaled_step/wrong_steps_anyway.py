# verdict: wrong, diagnosis: steps_on_overflow


def scaled_step(weights, loss_of, scale, lr, max_norm):
    half = weights.half().requires_grad_()
    (loss_of(half) * scale).backward()
    g = half.grad.float() / scale
    norm = g.norm()
    if norm > max_norm:
        g = g * (max_norm / norm)
    return weights - lr * g, False
