# verdict: passed
import torch
import torch.distributed as dist


@torch.no_grad()
def broadcast_parameters(model):
    tensors = [*model.parameters(), *model.buffers()]
    box = [tensors if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(box, src=0)
    for mine, value in zip(tensors, box[0], strict=True):
        mine.copy_(value)
