# verdict: wrong, diagnosis: detached_copy
import torch
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = torch.from_numpy(p.grad.numpy().copy())
            dist.all_reduce(grad, op=dist.ReduceOp.AVG)
