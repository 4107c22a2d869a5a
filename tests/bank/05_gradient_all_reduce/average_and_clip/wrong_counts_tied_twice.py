# verdict: wrong, diagnosis: wrong_length
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    norm = sum(p.grad.pow(2).sum() for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad) ** 0.5
    if norm > max_norm:
        for p in ps:
            p.grad *= max_norm / norm
    return norm.item()
