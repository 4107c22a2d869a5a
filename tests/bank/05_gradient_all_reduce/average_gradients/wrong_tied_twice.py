# verdict: wrong, diagnosis: reduced_twice
import torch
import torch.distributed as dist


def average_gradients(model):
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if p.requires_grad:
                if p.grad is None:
                    p.grad = torch.zeros_like(p)
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()
