# verdict: hung, diagnosis: unsafe_send
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x.clone()
    y = torch.empty_like(x)
    dist.send(x, partner)
    dist.recv(y, partner)
    return y
