# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        g = (torch.zeros_like(p) if p.grad is None else p.grad).float()
        dist.all_reduce(g)
        p.grad = (g / dist.get_world_size()).to(p.dtype)
    return torch.nn.utils.clip_grad_norm_(ps, max_norm)
