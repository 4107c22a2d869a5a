# verdict: wrong, diagnosis: used_before_wait
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    y.copy_(x)
    requests = [dist.irecv(y, partner), dist.isend(y, partner)]
    for request in requests:
        request.wait()
    return y
