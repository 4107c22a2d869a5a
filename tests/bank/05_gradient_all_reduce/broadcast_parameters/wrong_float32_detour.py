# verdict: wrong, diagnosis: lost_digits
import torch
import torch.distributed as dist


def broadcast_parameters(model):
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            if t.is_floating_point():
                f = t.float()
                dist.broadcast(f, 0)
                t.copy_(f)
            else:
                dist.broadcast(t, 0)
