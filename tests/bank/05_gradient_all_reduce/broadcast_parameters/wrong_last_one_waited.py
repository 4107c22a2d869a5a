# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


@torch.no_grad()
def broadcast_parameters(model):
    work = None
    for t in model.state_dict().values():
        work = dist.broadcast(t, src=0, async_op=True)
    work.wait()
