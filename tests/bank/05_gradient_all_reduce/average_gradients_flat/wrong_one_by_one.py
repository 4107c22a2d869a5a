# verdict: wrong, diagnosis: one_call_per_parameter
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
