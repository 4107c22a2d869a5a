# verdict: raised, diagnosis: ValueError
import torch
import torch.distributed as dist


def exchange(x, partner):
    y = torch.empty_like(x)
    if dist.get_rank() <= partner:
        dist.send(x, partner)
        dist.recv(y, partner)
    else:
        dist.recv(y, partner)
        dist.send(x, partner)
    return y
