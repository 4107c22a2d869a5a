# verdict: passed
import torch.distributed as dist
from torch import nn


def broadcast_parameters(model: nn.Module) -> None:
    for tensor in model.parameters():
        dist.broadcast(tensor.data, src=0)
    for tensor in model.buffers():
        dist.broadcast(tensor, src=0)
