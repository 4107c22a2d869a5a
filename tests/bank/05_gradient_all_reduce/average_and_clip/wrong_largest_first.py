# verdict: wrong, diagnosis: wrong_length
import torch
import torch.distributed as dist


def average_and_clip(model, max_norm):
    ps = [p for p in model.parameters() if p.requires_grad]
    for p in ps:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
    norm = max(p.grad.norm() for p in ps)
    for p in ps:
        p.grad *= min(1.0, max_norm / (norm + 1e-12))
    return float(norm)
