# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def broadcast_parameters(model):
    ts = list(model.state_dict().values())
    flat = torch.cat([t.reshape(-1).float() for t in ts])
    dist.broadcast(flat, 0)
    k = 0
    for t in ts:
        t.reshape(-1).copy_(flat[k:k + t.numel()])
        k += t.numel()
