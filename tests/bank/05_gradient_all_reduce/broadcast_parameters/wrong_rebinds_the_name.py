# verdict: wrong, diagnosis: detached_copy
import torch
import torch.distributed as dist


def broadcast_parameters(model):
    for p in model.parameters():
        received = [torch.empty_like(p) for _ in range(dist.get_world_size())]
        dist.all_gather(received, p.detach())
        p = received[0]
