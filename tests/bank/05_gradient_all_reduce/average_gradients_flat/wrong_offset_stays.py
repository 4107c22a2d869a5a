# verdict: wrong, diagnosis: wrong_place
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    start = 0
    for p in trained:
        p.grad.copy_(flat[start : start + p.numel()].view(p.shape))
