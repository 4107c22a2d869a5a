# verdict: wrong, diagnosis: detached_copy
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        copy = p.detach().clone()
        dist.broadcast(copy, src=0)
