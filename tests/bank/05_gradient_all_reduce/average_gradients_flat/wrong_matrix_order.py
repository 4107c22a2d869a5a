# verdict: wrong, diagnosis: wrong_place
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.requires_grad]
    gs = [torch.zeros_like(p) if p.grad is None else p.grad for p in trained]
    flat = torch.cat([torch.as_strided(g, (g.numel(),), (1,)) for g in gs])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad = piece.view(p.shape).clone()
