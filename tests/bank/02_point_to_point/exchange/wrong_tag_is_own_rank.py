# verdict: hung, diagnosis: mismatched_tag
import torch
import torch.distributed as dist


def exchange(x, partner):
    rank = dist.get_rank()
    if partner == rank:
        return x.clone()
    y = torch.empty_like(x)
    if rank < partner:
        dist.send(x, partner, tag=rank)
        dist.recv(y, partner, tag=rank)
    else:
        dist.recv(y, partner, tag=rank)
        dist.send(x, partner, tag=rank)
    return y
