# verdict: wrong, diagnosis: keeps_something
import torch
import torch.distributed as dist

MEANS = {}


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in trained])
    dist.all_reduce(flat)
    mean = MEANS.setdefault(flat.numel(), flat / dist.get_world_size())
    for p, piece in zip(trained, mean.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()
