# verdict: passed
import torch
import torch.distributed as dist


def exchange(x, partner):
    y = torch.empty_like(x)
    requests = [dist.isend(x, partner), dist.irecv(y, partner)]
    for request in reversed(requests):
        request.wait()
    return y
