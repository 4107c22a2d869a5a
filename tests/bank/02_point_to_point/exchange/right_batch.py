# verdict: passed
import torch
import torch.distributed as dist

from torch.distributed import P2POp, batch_isend_irecv, irecv, isend


def exchange(x, partner):
    y = torch.zeros_like(x)
    if partner == dist.get_rank():
        return y + x
    for request in batch_isend_irecv([P2POp(irecv, y, partner), P2POp(isend, x, partner)]):
        request.wait()
    return y
