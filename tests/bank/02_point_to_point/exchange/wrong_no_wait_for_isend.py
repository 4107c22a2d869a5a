# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.zeros_like(x)
    dist.isend(x, partner)
    dist.recv(y, partner)
    return y
