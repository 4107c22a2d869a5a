# verdict: wrong, diagnosis: wrong_place
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    named = {n: p for n, p in model.named_parameters() if p.requires_grad}
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in named.values()])
    dist.all_reduce(flat)
    at = 0
    for n in sorted(named):
        p = named[n]
        p.grad = (flat[at : at + p.numel()] / dist.get_world_size()).reshape(p.shape)
        at += p.numel()
