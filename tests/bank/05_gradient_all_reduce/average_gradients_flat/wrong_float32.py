# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.zeros(sum(p.numel() for p in trained))
    at = 0
    for p in trained:
        if p.grad is not None:
            flat[at : at + p.numel()] = p.grad.reshape(-1)
        at += p.numel()
    dist.all_reduce(flat)
    at = 0
    for p in trained:
        p.grad = (flat[at : at + p.numel()] / dist.get_world_size()).view(p.shape).to(p.dtype)
        at += p.numel()
