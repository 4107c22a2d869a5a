# verdict: passed
import torch
import torch.distributed as dist


@torch.no_grad()
def broadcast_parameters(model):
    for t in [*model.parameters(), *model.buffers()]:
        box = [torch.empty_like(t) for _ in range(dist.get_world_size())]
        dist.all_gather(box, t.detach().contiguous())
        t.copy_(box[0])
