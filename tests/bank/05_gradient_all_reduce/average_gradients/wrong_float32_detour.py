# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            g = torch.zeros_like(p) if p.grad is None else p.grad
            g = g.float()
            dist.all_reduce(g)
            p.grad = (g / dist.get_world_size()).to(p.dtype)
