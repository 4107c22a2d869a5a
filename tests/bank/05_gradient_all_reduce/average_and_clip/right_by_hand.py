# verdict: passed
import math
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    trained = [p for p in model.parameters() if p.requires_grad]
    square = 0.0
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
        square += p.grad.double().pow(2).sum().item()
    norm = math.sqrt(square)
    if norm > max_norm:
        for p in trained:
            p.grad *= max_norm / norm
    return norm
