# verdict: passed
import torch


def average_and_clip(model, max_norm):
    average_gradients_flat(model)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([g.reshape(-1) for g in grads]))
    factor = min(1.0, max_norm / (float(norm) + 1e-12))
    for g in grads:
        g.mul_(factor)
    return norm
