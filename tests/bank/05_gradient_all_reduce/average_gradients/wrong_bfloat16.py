# verdict: wrong, diagnosis: half_precision
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = p.grad.bfloat16()
            dist.all_reduce(grad)
            p.grad = (grad / dist.get_world_size()).to(p.dtype)
