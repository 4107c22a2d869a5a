# verdict: wrong, diagnosis: frozen_forgotten
import torch.distributed as dist


def broadcast_parameters(model):
    for t in [p.data for p in model.parameters() if p.requires_grad] + list(model.buffers()):
        dist.broadcast(t, src=0)
