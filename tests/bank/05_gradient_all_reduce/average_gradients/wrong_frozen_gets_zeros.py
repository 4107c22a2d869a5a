# verdict: wrong, diagnosis: frozen_with_gradient
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        g = torch.zeros_like(p) if p.grad is None else p.grad.clone()
        dist.reduce(g, dst=0)
        g = g / dist.get_world_size()
        dist.broadcast(g, src=0)
        p.grad = g
