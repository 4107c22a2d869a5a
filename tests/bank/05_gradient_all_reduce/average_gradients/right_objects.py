# verdict: passed
import torch
import torch.distributed as dist


def average_gradients(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    box = [None] * dist.get_world_size()
    dist.all_gather_object(box, [None if p.grad is None else p.grad for p in trained])
    for k, p in enumerate(trained):
        p.grad = sum((g[k] if g[k] is not None else torch.zeros_like(p) for g in box), torch.zeros_like(p)) / len(box)
