# verdict: passed
# differs: All broadcasts are on their way before the first is waited for.
import torch
import torch.distributed as dist


@torch.no_grad()
def broadcast_parameters(model):
    works = [dist.broadcast(t, src=0, async_op=True) for t in [*model.parameters(), *model.buffers()]]
    for work in works:
        work.wait()
