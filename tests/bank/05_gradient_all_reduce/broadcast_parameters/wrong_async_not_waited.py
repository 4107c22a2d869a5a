# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


@torch.no_grad()
def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        dist.broadcast(t, src=0, async_op=True)
