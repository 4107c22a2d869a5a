# verdict: wrong, diagnosis: some_left_out
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        if p.requires_grad:
            dist.broadcast(p.data, src=0)
