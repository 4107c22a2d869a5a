# verdict: hung, diagnosis: unsafe_send
import torch
import torch.distributed as dist


def exchange(x, partner):
    rank = dist.get_rank()
    if partner == rank:
        return x.clone()
    y = torch.empty_like(x)
    if rank % 2 == 0:
        dist.send(x, partner)
        dist.recv(y, partner)
    else:
        dist.recv(y, partner)
        dist.send(x, partner)
    return y
