# verdict: wrong, diagnosis: own_divided
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters() if p.grad is not None])
    flat /= dist.get_world_size()
    start = 0
    for p in model.parameters():
        if p.grad is not None:
            p.grad = flat[start : start + p.numel()].view(p.shape)
            start += p.numel()
