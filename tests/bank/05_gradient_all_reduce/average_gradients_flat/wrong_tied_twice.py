# verdict: wrong, diagnosis: reduced_twice
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    named = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    for p in named:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    flat = torch.cat([p.grad.reshape(-1) for p in named])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(named, flat.split([p.numel() for p in named])):
        p.grad = piece.view(p.shape)
