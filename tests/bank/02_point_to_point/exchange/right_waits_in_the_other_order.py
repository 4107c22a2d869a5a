# verdict: passed
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    receive, send = dist.irecv(y, partner), dist.isend(x, partner)
    send.wait()
    while not receive.is_completed():
        pass
    return y
