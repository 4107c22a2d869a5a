# verdict: wrong, diagnosis: norm_over_ranks
import math
import torch.distributed as dist


def average_and_clip(model, max_norm):
    average_gradients(model)
    trained = [p for p in model.parameters() if p.grad is not None]
    square = sum(p.grad.double().square().sum() for p in trained)
    dist.all_reduce(square)
    norm = math.sqrt(square)
    for p in trained:
        p.grad *= min(1.0, max_norm / max(norm, 1e-12))
    return norm
