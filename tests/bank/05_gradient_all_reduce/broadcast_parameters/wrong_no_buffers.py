# verdict: wrong, diagnosis: buffers_forgotten
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
