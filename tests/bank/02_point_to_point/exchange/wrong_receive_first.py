# verdict: hung, diagnosis: deadlock
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    dist.recv(y, partner)
    dist.send(x, partner)
    return y
