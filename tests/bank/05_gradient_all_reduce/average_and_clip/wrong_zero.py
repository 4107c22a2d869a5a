# verdict: wrong, diagnosis: zero_divided
import torch


def average_and_clip(model, max_norm):
    average_gradients(model)
    trained = [p for p in model.parameters() if p.grad is not None]
    norm = torch.stack([p.grad.double().square().sum() for p in trained]).sum().sqrt()
    for p in trained:
        p.grad *= torch.tensor(max_norm) / norm if norm < 1e-9 else min(1.0, max_norm / norm)
    return norm
