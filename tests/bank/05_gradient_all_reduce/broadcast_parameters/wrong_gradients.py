# verdict: wrong, diagnosis: no_communication
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        if p.grad is not None:
            dist.broadcast(p.grad, src=0)
