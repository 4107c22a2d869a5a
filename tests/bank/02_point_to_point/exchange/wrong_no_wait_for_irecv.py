# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.zeros_like(x)
    dist.irecv(y, partner)
    dist.send(x, partner)
    return y
