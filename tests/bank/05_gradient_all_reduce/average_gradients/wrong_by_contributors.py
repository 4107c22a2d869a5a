# verdict: wrong, diagnosis: divided_by_contributors
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.requires_grad:
            count = torch.tensor(0.0 if p.grad is None else 1.0)
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            dist.all_reduce(count)
            p.grad /= count
