# verdict: raised, diagnosis: AttributeError
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    flat = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
        p.grad = piece.view(p.shape)
