# verdict: wrong, diagnosis: detached_copy
import torch.distributed as dist


def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            grad = p.grad.clone()
            dist.all_reduce(grad)
            grad /= dist.get_world_size()
