# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def average_gradients(model):
    work = None
    for p in model.parameters():
        if p.requires_grad:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            p.grad /= dist.get_world_size()
            if work is not None:
                work.wait()
            work = dist.all_reduce(p.grad, async_op=True)
