# verdict: wrong, diagnosis: frozen_with_gradient
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    for p in model.parameters():
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
