# verdict: passed
import torch
import torch.distributed as dist
from torch import nn


def average_gradients_flat(model: nn.Module) -> None:
    trained = [p for p in model.parameters() if p.requires_grad]
    for p in trained:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    flat = torch.cat([p.grad.flatten() for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad.copy_(piece.view_as(p))
