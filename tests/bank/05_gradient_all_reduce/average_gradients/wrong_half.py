# verdict: wrong, diagnosis: half_precision
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = p.grad.half()
            dist.all_reduce(grad)
            p.grad = grad.to(p.dtype) / dist.get_world_size()
