# verdict: hung, diagnosis: mismatched_shape
import torch
import torch.distributed as dist


def average_gradients_flat(model):
    trained = [p for p in model.parameters() if p.grad is not None]
    if not trained:
        return
    flat = torch.cat([p.grad.flatten() for p in trained])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for p, piece in zip(trained, flat.split([p.numel() for p in trained])):
        p.grad.copy_(piece.view_as(p))
