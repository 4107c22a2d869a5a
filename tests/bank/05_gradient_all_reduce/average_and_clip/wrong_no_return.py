# verdict: wrong, diagnosis: returns_nothing
import math


def average_and_clip(model, max_norm):
    average_gradients(model)
    trained = [p for p in model.parameters() if p.grad is not None]
    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in trained))
    for p in trained:
        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
    return None
