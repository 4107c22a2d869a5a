# verdict: wrong, diagnosis: integers_rounded
import torch
import torch.distributed as dist


@torch.no_grad()
def broadcast_parameters(model):
    for tensor in [*model.parameters(), *model.buffers()]:
        if tensor.is_floating_point():
            dist.broadcast(tensor, src=0)
        else:
            as_float = tensor.float()
            dist.broadcast(as_float, src=0)
            tensor.copy_(as_float.round())
