# verdict: wrong, diagnosis: detached_copy
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters() if p.grad is not None])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
