# verdict: wrong, diagnosis: weights_changed
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    norm = torch.cat([p.grad.flatten() for p in ps]).norm()
    if norm > max_norm:
        for p in ps:
            p.data *= max_norm / norm
    return norm
