# verdict: passed
import torch
import torch.distributed as dist


def exchange(x, partner):
    received = torch.empty(x.shape, dtype=x.dtype)
    if partner != dist.get_rank():
        pending = dist.irecv(received, src=partner)
        dist.send(x, dst=partner)
        pending.wait()
    else:
        received.copy_(x)
    return received
