# verdict: wrong, diagnosis: replaced
import torch.distributed as dist
from torch import nn


def broadcast_parameters(model):
    for module in model.modules():
        for name, p in list(module.named_parameters(recurse=False)):
            received = p.detach().clone()
            dist.broadcast(received, src=0)
            setattr(module, name, nn.Parameter(received, requires_grad=p.requires_grad))
    for t in model.buffers():
        dist.broadcast(t, src=0)
