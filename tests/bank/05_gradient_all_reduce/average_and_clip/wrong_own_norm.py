# verdict: wrong, diagnosis: own_norm
import math


def average_and_clip(model, max_norm):
    norm = math.sqrt(sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None))
    average_gradients(model)
    for p in model.parameters():
        if p.grad is not None:
            p.grad *= min(1.0, max_norm / norm)
    return norm
