# verdict: wrong, diagnosis: wrapped
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    kind = x.dtype if x.is_floating_point() else torch.int32
    sent = x.to(kind)
    arrived = torch.empty_like(sent)
    request = dist.isend(sent, partner)
    dist.recv(arrived, partner)
    request.wait()
    return arrived.to(x.dtype)
