# verdict: wrong, diagnosis: reused_buffer
import torch
import torch.distributed as dist


def exchange(x, partner):
    if partner == dist.get_rank():
        return x
    request = dist.isend(x, partner)
    dist.recv(x, partner)
    request.wait()
    return x
