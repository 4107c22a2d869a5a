# verdict: wrong, diagnosis: frozen_with_gradient
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    params = list(model.parameters())
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(params, flat.split([p.numel() for p in params])):
        p.grad = piece.view(p.shape)
