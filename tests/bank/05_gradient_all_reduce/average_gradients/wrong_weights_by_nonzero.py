# verdict: wrong, diagnosis: divided_by_contributors
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if not p.requires_grad:
            continue
        there = torch.tensor(float(p.grad is not None))
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        dist.all_reduce(there)
        dist.all_reduce(p.grad)
        p.grad /= there
