# verdict: wrong, diagnosis: frozen_with_gradient
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        if p.requires_grad:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
