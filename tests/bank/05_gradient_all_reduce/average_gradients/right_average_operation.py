# verdict: passed
import torch
import torch.distributed as dist


def average_gradients(model):
    for name, p in model.named_parameters():
        if p.requires_grad:
            grad = torch.zeros_like(p.data) if p.grad is None else p.grad.data
            dist.all_reduce(grad, op=dist.ReduceOp.AVG)
            p.grad = grad
