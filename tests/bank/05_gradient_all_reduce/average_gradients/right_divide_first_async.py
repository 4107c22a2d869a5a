# verdict: passed
import torch
import torch.distributed as dist


def average_gradients(model):
    works = []
    for p in reversed(list(model.parameters())):
        if p.requires_grad:
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad / dist.get_world_size()
            works.append(dist.all_reduce(p.grad, async_op=True))
    [w.wait() for w in works]
