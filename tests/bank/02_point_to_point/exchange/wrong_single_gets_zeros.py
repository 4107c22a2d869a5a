# verdict: wrong, diagnosis: nothing_for_the_single
import torch
import torch.distributed as dist


def exchange(x, partner):
    y = torch.zeros_like(x)
    if partner != dist.get_rank():
        request = dist.isend(x, partner)
        dist.recv(y, partner)
        request.wait()
    return y
