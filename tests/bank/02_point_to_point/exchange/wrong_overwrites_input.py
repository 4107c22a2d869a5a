# verdict: wrong, diagnosis: modifies_input
import torch
import torch.distributed as dist


def exchange(x, partner):
    rank = dist.get_rank()
    if partner != rank:
        copy = x.clone()
        if rank < partner:
            dist.send(copy, partner)
            dist.recv(x, partner)
        else:
            dist.recv(x, partner)
            dist.send(copy, partner)
    return x
