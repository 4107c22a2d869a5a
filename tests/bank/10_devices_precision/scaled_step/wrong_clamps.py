# verdict: wrong, diagnosis: clamps_entries


def scaled_step(weights, loss_of, scale, lr, max_norm):
    w = weights.half().requires_grad_()
    (loss_of(w) * scale).backward()
    g = w.grad.float() / scale
    if not g.isfinite().all():
        return weights, True
    return weights - lr * g.clamp(-max_norm, max_norm), False
