# verdict: wrong, diagnosis: differs_between_ranks
import torch
import torch.distributed as dist


def average_gradients(model):
    r, n = dist.get_rank(), dist.get_world_size()
    for p in model.parameters():
        if p.requires_grad:
            g = torch.zeros_like(p) if p.grad is None else p.grad
            box = [torch.empty_like(g) for _ in range(n)]
            dist.all_gather(box, g)
            p.grad = (box[(r - 1) % n] + g + box[(r + 1) % n]) / 3
