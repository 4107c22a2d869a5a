# verdict: wrong, diagnosis: norm_of_the_sum
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm).item()
