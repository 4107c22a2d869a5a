# verdict: wrong, diagnosis: one_way
import torch
import torch.distributed as dist


def exchange(x, partner):
    rank = dist.get_rank()
    y = x.clone()
    if rank < partner:
        dist.send(x, partner)
    elif rank > partner:
        dist.recv(y, partner)
    return y
