# verdict: wrong, diagnosis: requires_grad_changed
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        p.requires_grad_(False)
        dist.broadcast(p, 0)
        p.requires_grad_(True)
    for b in model.buffers():
        dist.broadcast(b, 0)
