# verdict: passed
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    everything = list(model.parameters())
    flat = torch.cat([torch.zeros(p.numel(), dtype=p.dtype) if p.grad is None else p.grad.ravel() for p in everything])
    pieces = torch.empty(dist.get_world_size(), flat.numel(), dtype=flat.dtype)
    dist.all_gather_into_tensor(pieces, flat)
    flat = pieces.mean(0)
    start = 0
    for p in everything:
        if p.requires_grad:
            p.grad = flat[start : start + p.numel()].reshape(p.shape)
        start += p.numel()
